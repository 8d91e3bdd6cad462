import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ListObjectsV2Command } from '@aws-sdk/client-s3';
import { afterAll, afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { FolderBlobs } from '../stores/file/folder-blobs.js';
import { startS3Server } from '../stores/s3/testing/s3-server.js';
import { StoreRefused } from '../stores/store.js';
import { onStandIn } from '../stores/testing/on-database.js';
import { openStoreUrl } from './store-url.js';

const ignoreWarnings = () => {};
const blobOf = (text: string) => ({
  bytes: Buffer.from(text),
  sha256: createHash('sha256').update(text).digest('hex'),
});
const OLD = blobOf('written before');
const NEW = blobOf('written after');

afterEach(() => vi.unstubAllEnvs());

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'blobs-url-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** The URL of a new file store that contains the old blob. */
async function storeWithOldBlob(): Promise<string> {
  const url = `file:${await newFolder()}`;
  const { store, blobs } = await openStoreUrl(url, ignoreWarnings);
  await blobs.put('acme', OLD.sha256, OLD.bytes);
  await store.close();
  return url;
}

async function expectOldAndNew(storeUrl: string, blobsUrl: string): Promise<void> {
  const { store, blobs } = await openStoreUrl(storeUrl, ignoreWarnings, blobsUrl);
  onTestFinished(() => store.close());
  await blobs.put('acme', NEW.sha256, NEW.bytes);
  for (const { sha256, bytes } of [OLD, NEW]) {
    expect(Buffer.from((await blobs.get('acme', sha256)) as Uint8Array)).toEqual(bytes);
    expect(await blobs.size('acme', sha256)).toBe(bytes.byteLength);
  }
  expect(await blobs.get('other', OLD.sha256)).toBeNull();
  const storeBlobs = new FolderBlobs(storeUrl.slice('file:'.length));
  expect(await storeBlobs.size('acme', NEW.sha256)).toBeNull();
}

test.each([
  ['file:FOLDER/blobs', 'a file URL'],
  ['FOLDER/blobs', 'a path'],
])('keeps new blobs in the folder %s, and reads the blobs of the store', async (template) => {
  const folder = await newFolder();
  await expectOldAndNew(await storeWithOldBlob(), template.replace('FOLDER', folder));
  expect(await new FolderBlobs(join(folder, 'blobs')).size('acme', NEW.sha256)).toBe(NEW.bytes.byteLength);
});

await onStandIn('s3', startS3Server, (server) => {
  afterAll(() => server.stop());

  // req: WSP-008
  test('keeps new blobs in S3, and still reads the older blobs in the store', async () => {
    vi.stubEnv('AWS_ENDPOINT_URL_S3', server.url);
    const bucket = await server.createBucket();
    await expectOldAndNew(await storeWithOldBlob(), `s3://${bucket}/fleet`);
    const { Contents } = await server.client.send(new ListObjectsV2Command({ Bucket: bucket }));
    expect(Contents?.map(({ Key }) => Key)).toEqual([`fleet/acme/${NEW.sha256.slice(0, 2)}/${NEW.sha256}`]);
  });

  test('refuses a missing bucket before the store is opened', async () => {
    vi.stubEnv('AWS_ENDPOINT_URL_S3', server.url);
    const url = `file:${await newFolder()}`;
    await expect(openStoreUrl(url, ignoreWarnings, 's3://no-such-bucket/x')).rejects.toThrow(
      /no-such-bucket does not exist/,
    );
    // The refused start has not left the store locked.
    await (await openStoreUrl(url, ignoreWarnings)).store.close();
  });
});

test.each([
  ['', /expected file:.*s3:\/\/bucket\/prefix, not ""/],
  ['file:', /expected file:/],
  ['ftp://host/x', /not "ftp:\/\/host\/x"/],
  ['S3://bucket/x', /expected file:/],
  ['s3://Not_A_Bucket', /not the name of an S3 bucket/],
])('refuses GENESIS_BLOBS=%s at the start', async (blobsUrl, reason) => {
  const opened = openStoreUrl('memory:', ignoreWarnings, blobsUrl);
  await expect(opened).rejects.toThrow(StoreRefused);
  await expect(opened).rejects.toThrow(reason);
});

test('refuses a path that is not a folder at the start', async () => {
  const file = resolve(await newFolder(), 'file');
  await writeFile(file, '');
  await expect(openStoreUrl('memory:', ignoreWarnings, file)).rejects.toThrow(
    /GENESIS_BLOBS: .*file is not a folder/,
  );
});
