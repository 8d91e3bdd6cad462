import type { BlobReference } from '../core/engine/run-data.js';

/** Content-addressed storage for large results. A blob is written before the commit that names it and never changes. */
export interface Blobs {
  /** Writes a blob, which is durable when the promise resolves. Writing an existing blob is a no-op. */
  put(tenantId: string, sha256: string, bytes: Uint8Array): Promise<void>;
  get(tenantId: string, sha256: string): Promise<Uint8Array | null>;
  size(tenantId: string, sha256: string): Promise<number | null>;
  /** Where another program can read the blob; null: nowhere. Absent: no other program can read this store's blobs. */
  referenceOf?(tenantId: string, sha256: string): Promise<BlobReference | null>;
}

export class MemoryBlobs implements Blobs {
  private readonly bytesByKey = new Map<string, Uint8Array>();

  async put(tenantId: string, sha256: string, bytes: Uint8Array): Promise<void> {
    this.bytesByKey.set(`${tenantId}/${sha256}`, bytes);
  }
  async get(tenantId: string, sha256: string): Promise<Uint8Array | null> {
    return this.bytesByKey.get(`${tenantId}/${sha256}`) ?? null;
  }
  async size(tenantId: string, sha256: string): Promise<number | null> {
    return this.bytesByKey.get(`${tenantId}/${sha256}`)?.byteLength ?? null;
  }
}

/** Routes each tenant's blobs to the tenant's store. */
export const routedBlobs = (blobsOf: (tenantId: string) => Promise<Blobs>): Blobs => ({
  put: async (tenantId, sha256, bytes) => (await blobsOf(tenantId)).put(tenantId, sha256, bytes),
  get: async (tenantId, sha256) => (await blobsOf(tenantId)).get(tenantId, sha256),
  size: async (tenantId, sha256) => (await blobsOf(tenantId)).size(tenantId, sha256),
});

/**
 * Writes to `current`. Reads from `current` first, then from `older`. Only blobs in `current` have a reference for other
 * programs.
 */
export const withOlderBlobs = (current: Blobs, older: Blobs): Blobs => ({
  put: (tenantId, sha256, bytes) => current.put(tenantId, sha256, bytes),
  get: async (tenantId, sha256) =>
    (await current.get(tenantId, sha256)) ?? (await older.get(tenantId, sha256)),
  size: async (tenantId, sha256) =>
    (await current.size(tenantId, sha256)) ?? (await older.size(tenantId, sha256)),
  referenceOf: async (tenantId, sha256) => (await current.referenceOf?.(tenantId, sha256)) ?? null,
});
