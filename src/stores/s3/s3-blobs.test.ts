import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  GetObjectCommand,
  ListObjectVersionsCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { StoreRefused, StoreUnavailable } from '../store.js';
import { onStandIn } from '../testing/on-database.js';
import { freePort } from '../testing/server-process.js';
import { parseS3Url } from './options.js';
import { S3_BLOB_BYTES_MAX, S3Blobs } from './s3-blobs.js';
import { type S3TestServer, startS3Server } from './testing/s3-server.js';

const digestOf = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex');
const openAt = async (endpoint: string, bucket: string): Promise<S3Blobs> => {
  const blobs = await S3Blobs.open(parseS3Url(`s3://${bucket}/fleet`, { AWS_ENDPOINT_URL_S3: endpoint }));
  onTestFinished(() => blobs.close());
  return blobs;
};

await onStandIn('s3', startS3Server, (server) => {
  afterAll(() => server.stop());
  describe('blobs in S3', () => testBlobs(server));
});

function testBlobs({ url, client, createBucket }: S3TestServer): void {
  const text = Buffer.from('a large result');
  const sha256 = digestOf(text);
  const key = `fleet/acme/${sha256.slice(0, 2)}/${sha256}`;

  test('writes a blob to the path that a folder of blobs has, and reads it again', async () => {
    const bucket = await createBucket();
    const blobs = await openAt(url, bucket);
    expect(await blobs.get('acme', sha256)).toBeNull();
    expect(await blobs.size('acme', sha256)).toBeNull();
    expect(await blobs.referenceOf('acme', sha256)).toBeNull();
    await blobs.put('acme', sha256, text);
    expect(Buffer.from((await blobs.get('acme', sha256)) as Uint8Array)).toEqual(text);
    expect(await blobs.size('acme', sha256)).toBe(text.byteLength);
    expect(await blobs.referenceOf('acme', sha256)).toEqual({ bucket, key, version: '' });
    const storedObject = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
    expect(await storedObject.Body?.transformToString()).toBe('a large result');
  });

  test('keeps the blobs of tenants apart, whatever their ids contain', async () => {
    const blobs = await openAt(url, await createBucket());
    const ids = ['acme', 'ACME', '../acme', 'a/b', 'é', ' '];
    for (const id of ids) {
      expect(await blobs.size(id, sha256)).toBeNull();
      await blobs.put(id, sha256, text);
      expect(await blobs.size(id, sha256)).toBe(text.byteLength);
    }
    await expect(blobs.get('acme', '../acme')).rejects.toThrow(/must be its SHA-256/);
  });

  test('does not write an existing blob again, and names its version', async () => {
    const Bucket = await createBucket();
    const VersioningConfiguration = { Status: 'Enabled' as const };
    await client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration }));
    const blobs = await openAt(url, Bucket);
    // One after the other: the emulator checks and writes in two steps, where S3 takes one.
    for (let times = 0; times < 3; times += 1) await blobs.put('acme', sha256, text);
    const { Versions } = await client.send(new ListObjectVersionsCommand({ Bucket }));
    expect(Versions).toHaveLength(1);
    const version = Versions?.[0]?.VersionId;
    expect(version).toMatch(/.{8}/);
    expect(await blobs.referenceOf('acme', sha256)).toEqual({ bucket: Bucket, key, version });
  });

  test('refuses a corrupted object, and replaces one of another size when the blob is written again', async () => {
    const Bucket = await createBucket();
    const blobs = await openAt(url, Bucket);
    await client.send(new PutObjectCommand({ Bucket, Key: key, Body: 'something else' }));
    await expect(blobs.get('acme', sha256)).rejects.toThrow(/is not what was written. Restore it/);
    await client.send(new PutObjectCommand({ Bucket, Key: key, Body: 'half' }));
    await expect(blobs.get('acme', sha256)).rejects.toThrow(StoreUnavailable);
    await blobs.put('acme', sha256, text);
    expect(Buffer.from((await blobs.get('acme', sha256)) as Uint8Array)).toEqual(text);
  });

  test('reads a large blob as it was written, and refuses one above the limit', async () => {
    const blobs = await openAt(url, await createBucket());
    const large = Buffer.alloc(9 * 1024 * 1024, 'genesis');
    await blobs.put('acme', digestOf(large), large);
    expect(digestOf((await blobs.get('acme', digestOf(large))) as Uint8Array)).toBe(digestOf(large));
    await blobs.put('acme', digestOf(''), Buffer.alloc(0));
    expect(await blobs.get('acme', digestOf(''))).toHaveLength(0);
    const tooLarge = new Uint8Array(S3_BLOB_BYTES_MAX + 1);
    await expect(blobs.put('acme', sha256, tooLarge)).rejects.toThrow(/the maximum is/);
  });

  test('refuses a bucket that does not exist when it is opened', async () => {
    const missing = `missing-${randomUUID()}`;
    await expect(openAt(url, missing)).rejects.toThrow(StoreRefused);
    await expect(openAt(url, missing)).rejects.toThrow(new RegExp(`${missing} does not exist`));
  });
}

test('the blob store is unavailable, with the reason, while no server listens at the endpoint', async () => {
  const endpoint = `http://127.0.0.1:${await freePort()}`;
  await expect(openAt(endpoint, 'bucket')).rejects.toThrow(StoreUnavailable);
  await expect(openAt(endpoint, 'bucket')).rejects.toThrow(/S3 does not respond \(ECONNREFUSED.*reachable/);
});

/** A server that replies with a status and, except to HEAD, with an error of S3. */
async function startReplyingServer(
  reply: (method: string, hasCondition: boolean) => { status: number; code?: string },
) {
  const calls: string[] = [];
  const server = createServer((request, response) => {
    const hasCondition = request.headers['if-none-match'] !== undefined;
    calls.push(`${request.method}${hasCondition ? ' if absent' : ''}`);
    const { status, code } = reply(request.method as string, hasCondition);
    const body = code === undefined ? '' : `<Error><Code>${code}</Code><Message>m</Message></Error>`;
    request.resume().on('end', () => response.writeHead(status).end(request.method === 'HEAD' ? '' : body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { calls, endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

test.each([
  [403, 'AccessDenied', /no access to the S3 bucket.*docs\/blobs.md/],
  [403, 'InvalidAccessKeyId', /Check AWS_ACCESS_KEY_ID/],
  [403, 'SignatureDoesNotMatch', /Check AWS_SECRET_ACCESS_KEY and the system clock/],
  [404, 'NoSuchBucket', /bucket of GENESIS_BLOBS does not exist/],
  [409, 'ConditionalRequestConflict', /S3 is busy/],
  [400, 'InvalidRequest', /S3 rejected the request \(InvalidRequest/],
])(
  'the blob store is unavailable with advice when the reply to a write is %i %s',
  async (status, code, advice) => {
    const { endpoint } = await startReplyingServer((method) =>
      method === 'PUT' ? { status, code } : { status: 200 },
    );
    const blobs = await openAt(endpoint, 'bucket');
    const put = blobs.put('acme', digestOf('x'), Buffer.from('x'));
    await expect(put).rejects.toThrow(StoreUnavailable);
    await expect(put).rejects.toThrow(advice);
  },
);

test('writes without a condition if the server does not support conditions', async () => {
  const { endpoint, calls } = await startReplyingServer((method, hasCondition) => {
    if (hasCondition) return { status: 501, code: 'NotImplemented' };
    return { status: method === 'HEAD' && calls.length > 1 ? 404 : 200 };
  });
  const blobs = await openAt(endpoint, 'bucket');
  await blobs.put('acme', digestOf('x'), Buffer.from('x'));
  expect(calls.at(-1)).toBe('PUT');
  expect(calls).toContain('PUT if absent');
});

test('refuses credentials without access when it is opened', async () => {
  const { endpoint } = await startReplyingServer(() => ({ status: 403 }));
  await expect(openAt(endpoint, 'bucket')).rejects.toThrow(/no access to the S3 bucket/);
});
