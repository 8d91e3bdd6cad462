import { describe, expect, it } from 'vitest';
import { StoreRefused } from '../store.js';
import { parseDynamodbUrl } from './options.js';

describe('the URL of a dynamodb store', () => {
  it('has a region, and optionally a prefix and an endpoint', () => {
    expect(parseDynamodbUrl('dynamodb://eu-west-1/acme?endpoint=http://127.0.0.1:8000')).toMatchObject({
      region: 'eu-west-1',
      namespace: 'acme',
      endpoint: 'http://127.0.0.1:8000',
    });
    expect(parseDynamodbUrl('dynamodb://us-gov-west-1')).toMatchObject({
      region: 'us-gov-west-1',
      namespace: 'genesis_fleet',
      endpoint: null,
    });
  });

  it.each([
    ['nonsense', /Not a DynamoDB URL/],
    ['postgres://eu-west-1/x', /Not a DynamoDB URL/],
    ['dynamodb://127.0.0.1:8000/x', /is not an AWS region/],
    ['dynamodb:///x', /is not an AWS region/],
    ['dynamodb://eu-west-1/a/b', /is not a valid table prefix/],
    ['dynamodb://eu-west-1/x?endpoint=ftp://a', /is not an http or https URL/],
    ['dynamodb://eu-west-1/x?endpont=http://a', /Unknown parameter "endpont"/],
  ])('is refused with an explanation if it is invalid: %s', (url, sentence) => {
    expect(() => parseDynamodbUrl(url)).toThrow(StoreRefused);
    expect(() => parseDynamodbUrl(url)).toThrow(sentence);
  });

  it('is refused if it has credentials, which the message does not contain', () => {
    const parse = () => parseDynamodbUrl('dynamodb://key:hunter2@eu-west-1/x');
    expect(parse).toThrow(/do not belong in the URL/);
    expect(parse).not.toThrow(/hunter2/);
  });
});
