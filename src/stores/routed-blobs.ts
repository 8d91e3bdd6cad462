import type { Blobs } from './blobs.js';

/** Each tenant's blobs where its store keeps them. */
export class RoutedBlobs implements Blobs {
  constructor(private readonly blobsOf: (tenant_id: string) => Promise<Blobs>) {}

  async put(tenant_id: string, sha256: string, bytes: Uint8Array): Promise<void> {
    await (await this.blobsOf(tenant_id)).put(tenant_id, sha256, bytes);
  }
  async get(tenant_id: string, sha256: string): Promise<Uint8Array | null> {
    return (await this.blobsOf(tenant_id)).get(tenant_id, sha256);
  }
  async size(tenant_id: string, sha256: string): Promise<number | null> {
    return (await this.blobsOf(tenant_id)).size(tenant_id, sha256);
  }
}
