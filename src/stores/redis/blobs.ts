import { randomUUID } from 'node:crypto';
import type { Blobs } from '../blobs.js';
import type { RedisConnection } from './connection.js';
import type { RedisKeys } from './keys.js';
import { readScript } from './script.js';

/** Bytes sent in one command: commits on the same connection wait no longer than that takes. */
const CHUNK_BYTES = 1 << 20;
/** Redis keeps everything in memory: larger blobs belong in a folder or a bucket. */
export const REDIS_BLOB_BYTES_MAX = 64 * CHUNK_BYTES;
/** Time to live of a blob that is not completely written. */
const PARTIAL_BLOB_TTL_MS = 3_600_000;
const FINISH_SCRIPT = readScript(new URL('./finish-blob.lua', import.meta.url));
const SHA256 = /^[0-9a-f]{64}$/;

/**
 * Blobs as strings. A blob is written in chunks under a draft key and then renamed, so it appears completely or not at
 * all.
 */
export class RedisBlobs implements Blobs {
  constructor(
    private readonly connection: RedisConnection,
    private readonly keys: RedisKeys,
  ) {}

  async put(tenantId: string, sha256: string, bytes: Uint8Array): Promise<void> {
    if (bytes.byteLength > REDIS_BLOB_BYTES_MAX) {
      throw new Error(
        `A blob in Redis may have at most ${REDIS_BLOB_BYTES_MAX} bytes, not ${bytes.byteLength}. Set GENESIS_BLOBS to a folder or a bucket.`,
      );
    }
    if ((await this.size(tenantId, sha256)) === bytes.byteLength) return;
    const draft = this.keys.blob(tenantId, `draft:${randomUUID()}`);
    await this.connection.send(['SET', draft, '1', 'PX', String(PARTIAL_BLOB_TTL_MS)]);
    for (let from = 0; from < bytes.byteLength; from += CHUNK_BYTES) {
      const chunk = bytes.subarray(from, from + CHUNK_BYTES);
      await this.connection.send([
        'APPEND',
        draft,
        Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength),
      ]);
    }
    await this.connection.run(FINISH_SCRIPT, [draft, this.blobKey(tenantId, sha256)], []);
  }

  async get(tenantId: string, sha256: string): Promise<Uint8Array | null> {
    const size = await this.size(tenantId, sha256);
    if (size === null) return null;
    const chunks: Buffer[] = [];
    for (let from = 1; from <= size; from += CHUNK_BYTES) {
      const to = Math.min(from + CHUNK_BYTES - 1, size);
      const range = ['GETRANGE', this.blobKey(tenantId, sha256), String(from), String(to)];
      chunks.push((await this.connection.send(range, true)) as Buffer);
    }
    return Buffer.concat(chunks);
  }

  async size(tenantId: string, sha256: string): Promise<number | null> {
    const length = (await this.connection.send(['STRLEN', this.blobKey(tenantId, sha256)])) as number;
    // A byte precedes each blob, so that an empty one exists too.
    return length === 0 ? null : length - 1;
  }

  private blobKey(tenantId: string, sha256: string): string {
    if (!SHA256.test(sha256)) throw new Error('The name of a blob must be its SHA-256.');
    return this.keys.blob(tenantId, sha256);
  }
}
