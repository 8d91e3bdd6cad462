import type { Blobs } from '../blobs.js';
import { type Disk, readFully, writeFully } from './disk.js';
import { tenantFolder } from './layout.js';
import { nodeDisk } from './node-disk.js';

const SHA256 = /^[0-9a-f]{64}$/;

/** Blobs in a folder, two levels deep. A blob appears whole or not at all. */
export class FolderBlobs implements Blobs {
  private writes = 0;

  constructor(
    private readonly root: string,
    private readonly disk: Disk = nodeDisk,
  ) {}

  async put(tenant_id: string, sha256: string, bytes: Uint8Array): Promise<void> {
    if ((await this.size(tenant_id, sha256)) === bytes.byteLength) return;
    const folder = this.folder(tenant_id, sha256);
    await this.disk.makeFolder(folder);
    this.writes += 1;
    const draft = `${folder}/${sha256}.${process.pid}.${this.writes}.part`;
    try {
      await this.writeSynced(draft, bytes);
      await this.disk.rename(draft, `${folder}/${sha256}`);
      await this.disk.syncFolder(folder);
    } finally {
      await this.disk.unlink(draft);
    }
  }

  async get(tenant_id: string, sha256: string): Promise<Uint8Array | null> {
    const file = await this.disk.openRead(`${this.folder(tenant_id, sha256)}/${sha256}`);
    if (file === null) return null;
    try {
      return await readFully(file, 0, await file.size());
    } finally {
      await file.close();
    }
  }

  async size(tenant_id: string, sha256: string): Promise<number | null> {
    const file = await this.disk.openRead(`${this.folder(tenant_id, sha256)}/${sha256}`);
    if (file === null) return null;
    try {
      return await file.size();
    } finally {
      await file.close();
    }
  }

  private folder(tenant_id: string, sha256: string): string {
    // It comes from outside: what is not a hash never becomes a path.
    if (!SHA256.test(sha256)) throw new Error('a blob is named by its SHA-256');
    // No tenant's name begins so: a store of logs can share the root.
    return `${tenantFolder(`${this.root}/_blobs`, tenant_id)}/${sha256.slice(0, 2)}`;
  }

  private async writeSynced(path: string, bytes: Uint8Array): Promise<void> {
    const file = await this.disk.openAppend(path, 0o600);
    try {
      await writeFully(file, bytes);
      await file.sync();
    } finally {
      await file.close();
    }
  }
}
