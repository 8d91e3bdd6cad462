import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Blobs } from '../stores/blobs.js';
import { FolderBlobs } from '../stores/file/folder-blobs.js';
import { parseS3Url } from '../stores/s3/options.js';
import { S3Blobs } from '../stores/s3/s3-blobs.js';
import { StoreRefused } from '../stores/store.js';

/** More than one letter: `C:` is a drive. */
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]+:/;

/** Opens what `GENESIS_BLOBS` names: a folder, as `file:./folder` or its path, or `s3://bucket/prefix`. */
export async function openBlobsUrl(url: string): Promise<Blobs> {
  if (url.startsWith('s3:')) return S3Blobs.open(parseS3Url(url, process.env));
  const folder = SCHEME.test(url) ? folderOf(url) : url === '' ? null : resolve(url);
  if (folder === null) {
    throw new StoreRefused(
      `GENESIS_BLOBS: expected file:./folder, the path of a folder, or s3://bucket/prefix, not ${JSON.stringify(url)}.`,
    );
  }
  const stats = await stat(folder).catch(() => null);
  if (stats !== null && !stats.isDirectory())
    throw new StoreRefused(
      `GENESIS_BLOBS: ${folder} is not a folder. Name a folder, or a path where one can be made.`,
    );
  return new FolderBlobs(folder);
}

/** Accepts `file:dir`, `file:./dir`, `file:/dir` and `file:///dir`; relative paths start at the working directory. */
export function folderOf(url: string): string | null {
  if (url.startsWith('file://')) return fileURLToPath(url);
  if (!url.startsWith('file:') || url.length === 'file:'.length) return null;
  return resolve(url.slice('file:'.length));
}
