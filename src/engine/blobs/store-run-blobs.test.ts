import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { blobReference } from '../../core/engine/run-data.js';
import { type Blobs, MemoryBlobs, withOlderBlobs } from '../../stores/blobs.js';
import { StoreUnavailable } from '../../stores/store.js';
import { EngineError } from '../engine-error.js';
import { runBlobsOf } from './store-run-blobs.js';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const BYTES = Buffer.from('a candidate');
const DIGEST = sha256(BYTES);

/** Blobs that other programs find in a bucket. */
class BucketBlobs extends MemoryBlobs {
  async referenceOf(tenantId: string, digest: string) {
    return { bucket: 'my-bucket', key: `fleet/${tenantId}/${digest.slice(0, 2)}/${digest}`, version: 'v1' };
  }
}

test('reads back every content that it wrote, by a reference that fits the data of a run', async () => {
  for (const blobs of [new MemoryBlobs(), new BucketBlobs()]) {
    const runBlobs = runBlobsOf(blobs, 'acme');
    const property = fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
      const reference = blobReference.parse(JSON.parse(JSON.stringify(await runBlobs.put(bytes))));
      expect(Buffer.from(await runBlobs.get(reference))).toEqual(Buffer.from(bytes));
    });
    await fc.assert(property, { numRuns: 50 });
  }
});

test('refers to a blob by its place in the bucket, or by its digest if there is no bucket', async () => {
  expect(await runBlobsOf(new MemoryBlobs(), 'acme').put(BYTES)).toEqual({
    bucket: '',
    key: DIGEST,
    version: DIGEST,
  });
  expect(await runBlobsOf(new BucketBlobs(), 'acme').put(BYTES)).toEqual({
    bucket: 'my-bucket',
    key: `fleet/acme/${DIGEST.slice(0, 2)}/${DIGEST}`,
    version: 'v1',
  });
});

test('reads a blob by a reference that was made before the blobs moved to a bucket', async () => {
  const folder = new MemoryBlobs();
  const oldReference = await runBlobsOf(folder, 'acme').put(BYTES);
  const movedBlobs = runBlobsOf(withOlderBlobs(new BucketBlobs(), folder), 'acme');
  expect(Buffer.from(await movedBlobs.get(oldReference))).toEqual(BYTES);
  expect((await movedBlobs.put(Buffer.from('new'))).bucket).toBe('my-bucket');
});

test('never reads a blob of another tenant', async () => {
  const blobs = new BucketBlobs();
  const reference = await runBlobsOf(blobs, 'acme').put(BYTES);
  await expect(runBlobsOf(blobs, 'other').get(reference)).rejects.toThrow(/There is no blob/);
});

test.each(['', 'x', '../../etc/passwd', `${DIGEST}/..`, `x${DIGEST}`, DIGEST.toUpperCase()])(
  'refuses %j, which is not the key of a blob',
  async (key) => {
    const blobs = new MemoryBlobs();
    await blobs.put('acme', DIGEST, BYTES);
    const read = runBlobsOf(blobs, 'acme').get({ bucket: '', key, version: '' });
    await expect(read).rejects.toMatchObject({ name: 'Engine.Failed' });
    await expect(read).rejects.toBeInstanceOf(EngineError);
  },
);

test('refuses a blob whose content has changed', async () => {
  const blobs = new MemoryBlobs();
  const reference = await runBlobsOf(blobs, 'acme').put(BYTES);
  await blobs.put('acme', DIGEST, Buffer.from('changed'));
  await expect(runBlobsOf(blobs, 'acme').get(reference)).rejects.toThrow(/not what was written/);
});

test('reports only a store that does not respond as an error that the machine tries again', async () => {
  const failingBlobs = (error: Error): Blobs => ({
    put: () => Promise.reject(error),
    get: () => Promise.reject(error),
    size: () => Promise.reject(error),
  });
  const reference = { bucket: '', key: DIGEST, version: DIGEST };
  const unavailable = runBlobsOf(failingBlobs(new StoreUnavailable('S3 does not respond.')), 'acme');
  const expected = { name: 'Engine.Unavailable', message: 'S3 does not respond.' };
  await expect(unavailable.put(BYTES)).rejects.toMatchObject(expected);
  await expect(unavailable.get(reference)).rejects.toMatchObject(expected);
  await expect(runBlobsOf(failingBlobs(new TypeError('bug')), 'acme').get(reference)).rejects.toThrow(
    TypeError,
  );
});
