import type { Blobs } from './blobs.js';

/** Routes each tenant's blobs to the tenant's store. */
export class RoutedBlobs implements Blobs {
  constructor(private readonly blobsOf: (tenantId: string) => Promise<Blobs>) {}

  async put(tenantId: string, sha256: string, bytes: Uint8Array): Promise<void> {
    await (await this.blobsOf(tenantId)).put(tenantId, sha256, bytes);
  }
  async get(tenantId: string, sha256: string): Promise<Uint8Array | null> {
    return (await this.blobsOf(tenantId)).get(tenantId, sha256);
  }
  async size(tenantId: string, sha256: string): Promise<number | null> {
    return (await this.blobsOf(tenantId)).size(tenantId, sha256);
  }
}
