import type { Blobs } from '../blobs.js';
import type { DynamoClient } from './connection.js';
import { blobPartition, N, numberOf, S } from './keys.js';

/** DynamoDB limits an item to 400 KB, including attribute names. */
const CHUNK_BYTES = 380_000;

/** Blobs in chunks. The first chunk is written last and holds the size: a blob without it does not exist. */
export class DynamodbBlobs implements Blobs {
  constructor(private readonly dynamo: DynamoClient) {}

  async put(tenantId: string, sha256: string, bytes: Uint8Array): Promise<void> {
    if ((await this.size(tenantId, sha256)) !== null) return;
    const pk = S(blobPartition(tenantId, sha256));
    for (let chunk = Math.max(0, Math.ceil(bytes.byteLength / CHUNK_BYTES) - 1); chunk >= 0; chunk -= 1) {
      const size = chunk === 0 ? { size: N(bytes.byteLength) } : {};
      const item = { pk, chunk: N(chunk), bytes: { B: chunkOf(bytes, chunk) }, ...size };
      await this.dynamo.putAll(this.dynamo.tables.blobs, [item]);
    }
  }

  async get(tenantId: string, sha256: string): Promise<Uint8Array | null> {
    const chunks = await this.dynamo.partition(this.dynamo.tables.blobs, blobPartition(tenantId, sha256));
    const size = chunks[0]?.size;
    if (size === undefined) return null;
    const whole = Buffer.concat(chunks.map(({ bytes }) => bytes?.B ?? new Uint8Array()));
    if (whole.byteLength !== numberOf(size))
      throw new Error(`A chunk of the blob ${sha256} is missing. Restore the table of blobs from a backup.`);
    return whole;
  }

  async size(tenantId: string, sha256: string): Promise<number | null> {
    const key = { pk: S(blobPartition(tenantId, sha256)), chunk: N(0) };
    const first = await this.dynamo.get(this.dynamo.tables.blobs, key);
    return first === undefined ? null : numberOf(first.size);
  }

  /** Deletes a blob to which nothing refers any more. The first chunk goes first, so that the blob is gone at once. */
  async drop(tenantId: string, sha256: string): Promise<void> {
    const size = await this.size(tenantId, sha256);
    const pk = S(blobPartition(tenantId, sha256));
    const chunks = Math.max(1, Math.ceil((size ?? 0) / CHUNK_BYTES));
    for (let chunk = 0; chunk < chunks; chunk += 1) {
      await this.dynamo.delete(this.dynamo.tables.blobs, { pk, chunk: N(chunk) });
    }
  }
}

const chunkOf = (bytes: Uint8Array, chunk: number): Uint8Array =>
  bytes.subarray(chunk * CHUNK_BYTES, (chunk + 1) * CHUNK_BYTES);
