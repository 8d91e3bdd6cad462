import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { StoreRefused } from '../store.js';
import { DynamoClient } from './connection.js';
import { openDynamodbMigrator, openDynamodbStore } from './dynamodb-store.js';
import { META_KEY, N, S } from './keys.js';
import { type DynamodbOptions, parseDynamodbUrl } from './options.js';
import { describeOnDynamodb } from './testing/harness.js';

describe('the URL of a dynamodb store', () => {
  it('names region, prefix and endpoint, and may leave out the last two', () => {
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
    ['dynamodb://127.0.0.1:8000/x', /no AWS region/],
    ['dynamodb:///x', /no AWS region/],
    ['dynamodb://eu-west-1/a/b', /cannot begin the name of a table/],
    ['dynamodb://eu-west-1/x?endpoint=ftp://a', /no http or https URL/],
    ['dynamodb://eu-west-1/x?endpont=http://a', /knows no endpont/],
  ])('that is wrong is refused with a sentence: %s', (url, sentence) => {
    expect(() => parseDynamodbUrl(url)).toThrow(StoreRefused);
    expect(() => parseDynamodbUrl(url)).toThrow(sentence);
  });

  it('never tells the secret that somebody put into it', () => {
    const reply = () => parseDynamodbUrl('dynamodb://key:hunter2@eu-west-1/x');
    expect(reply).toThrow(/do not belong in the URL/);
    expect(reply).not.toThrow(/hunter2/);
  });
});

await describeOnDynamodb('opening a dynamodb store', ({ options, proxy: openProxy }) => {
  afterEach(() => vi.unstubAllEnvs());

  const refusal = async (from: DynamodbOptions): Promise<string> => {
    const error = await openDynamodbStore(from).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(StoreRefused);
    return error.message;
  };

  it('without tables says how to make them', async () => {
    expect(await refusal({ ...options, namespace: `nobody-${randomUUID()}` })).toMatch(
      /Run: gen migrate --store URL/,
    );
  });

  it('on tables of a newer program says to update, and so does migrating', async () => {
    const newer = { ...options, namespace: `newer-${randomUUID()}` };
    const migrator = await openDynamodbMigrator(newer);
    await migrator.up();
    const dynamo = await DynamoClient.connect(newer, Date.now);
    await dynamo.putAll(dynamo.tables.state, [{ ...META_KEY, version: N(99), secret: S('x') }]);
    expect(await refusal(newer)).toMatch(/newer than this program.*update genesis-fleet/);
    await expect(migrator.up()).rejects.toThrow(/update genesis-fleet/);
    await migrator.close();
    dynamo.close();
  });

  it('where nothing listens says so', async () => {
    expect(await refusal({ ...options, endpoint: 'http://127.0.0.1:1' })).toMatch(
      /127\.0\.0\.1:1: DynamoDB does not answer \(ECONNREFUSED/,
    );
  });

  it('without credentials says which are missing', async () => {
    for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_PROFILE']) {
      vi.stubEnv(name, undefined as unknown as string);
    }
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nowhere');
    vi.stubEnv('AWS_CONFIG_FILE', '/nowhere');
    expect(await refusal({ ...options, endpoint: null })).toMatch(/No AWS credentials were found/);
  });

  it.each([
    ['UnrecognizedClientException', /does not know these credentials/],
    ['AccessDeniedException', /may not use the tables/],
    ['ExpiredTokenException', /expired/],
  ])('that AWS refuses as %s says what to check', async (error, sentence) => {
    const proxy = await openProxy();
    proxy.fate = () => ({ error });
    expect(await refusal(proxy.options)).toMatch(sentence);
  });

  it('is safe when ten migrate at once: one of them takes the step, and all find it taken', async () => {
    const fresh = { ...options, namespace: `fresh-${randomUUID()}` };
    const migrators = await Promise.all(Array.from({ length: 10 }, () => openDynamodbMigrator(fresh)));
    expect(await migrators[0]?.status()).toEqual({ found: 0, wanted: 1 });
    expect((await migrators[0]?.pending())?.[0]?.statements.join()).toContain('CreateTable');
    const taken = await Promise.all(migrators.map((migrator) => migrator.up()));
    expect(taken.filter((steps) => steps.length > 0)).toHaveLength(1);
    expect(await migrators[9]?.pending()).toEqual([]);
    await Promise.all(migrators.map((migrator) => migrator.close()));
    const stores = await Promise.all([openDynamodbStore(fresh), openDynamodbStore(fresh)]);
    expect(await stores[0].meta()).toEqual(await stores[1].meta());
    await Promise.all(stores.map((store) => store.close()));
  });
});
