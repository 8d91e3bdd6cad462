import { expect, test } from 'vitest';
import { parseS3Url } from './options.js';

const AWS = { AWS_REGION: 'eu-west-1' };

test.each([
  ['s3://my-bucket', 'my-bucket', ''],
  ['s3://my-bucket/', 'my-bucket', ''],
  ['s3://my.bucket/fleet', 'my.bucket', 'fleet/'],
  ['s3://my-bucket/fleet/blobs/', 'my-bucket', 'fleet/blobs/'],
])('reads bucket and prefix of %s', (url, bucket, prefix) => {
  expect(parseS3Url(url, AWS)).toMatchObject({ bucket, prefix, region: 'eu-west-1', endpoint: null });
});

test.each([
  ['s3:', /"" is not the name of an S3 bucket/],
  ['s3://', /"" is not the name of an S3 bucket/],
  ['s3:///prefix', /is not the name of an S3 bucket/],
  ['s3://No_Bucket/x', /"No_Bucket" is not the name of an S3 bucket. Expected s3:\/\/bucket\/prefix/],
  ['s3://a..b', /is not the name/],
  ['s3://10.0.0.1/x', /is not the name/],
  ['s3://key:secret@my-bucket/x', /Credentials do not belong in the URL/],
  ['s3://my-bucket/a//b', /prefix "a\/\/b" is not valid/],
  ['s3://my-bucket/../other', /is not valid/],
  ['s3://my-bucket/a?region=x', /is not valid/],
  [`s3://my-bucket/${'a'.repeat(513)}`, /at most 512/],
])('refuses %s, and says why', (url, reason) => {
  expect(() => parseS3Url(url, AWS)).toThrow(reason);
  expect(() => parseS3Url(url, AWS)).not.toThrow(/secret@/);
});

test.each([
  ['http://127.0.0.1:9000', true, true],
  ['http://[::1]:9000', true, true],
  ['http://localhost:9000', true, true],
  ['http://10.1.2.3:9000', true, false],
  ['http://minio:9000', true, false],
  ['https://s3.example.com', false, false],
])('decides by the endpoint %s whether the bucket is in the path', (endpoint, is_path_style, is_emulator) => {
  const expected = { endpoint, is_path_style, is_emulator };
  expect(parseS3Url('s3://my-bucket', { AWS_ENDPOINT_URL: endpoint })).toMatchObject(expected);
  const general = 'http://127.0.0.1:1';
  const environment = { AWS_ENDPOINT_URL_S3: endpoint, AWS_ENDPOINT_URL: general };
  expect(parseS3Url('s3://my-bucket', environment)).toMatchObject(expected);
});

test('uses the credentials of the environment for a local endpoint, if there are any', () => {
  const environment = { AWS_ENDPOINT_URL: 'http://127.0.0.1:9000', AWS_ACCESS_KEY_ID: 'a' };
  expect(parseS3Url('s3://my-bucket', environment).is_emulator).toBe(false);
});

test('refuses an endpoint that is not an http URL, and names its variable', () => {
  expect(() => parseS3Url('s3://my-bucket', { AWS_ENDPOINT_URL_S3: 'ftp://x' })).toThrow(
    /AWS_ENDPOINT_URL_S3/,
  );
  expect(() => parseS3Url('s3://my-bucket', { AWS_ENDPOINT_URL: 'nonsense' })).toThrow(
    /AWS_ENDPOINT_URL must/,
  );
});
