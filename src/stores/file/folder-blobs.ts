import type { Blobs } from '../blobs.js';
import { StoreUnavailable } from '../store.js';
import { appendSynced, type Disk, type DiskFile, readWhole, withFile } from './disk.js';
import { BLOBS_FOLDER, tenantFolder } from './layout.js';
import { nodeDisk } from './node-disk.js';

const SHA256 = /^[0-9a-f]{64}$/;

const FAILURE_TEXTS: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full. Free some space',
  EDQUOT: 'The disk quota is used up. Free some space',
  EMFILE: 'This process has no file descriptors left. Raise the limit (ulimit -n) or wait',
  ENFILE: 'This machine has no file descriptors left. Wait',
};

/**
 * Blobs in a folder, two levels deep. A blob appears completely or not at all. Disk errors are reported as
 * `StoreUnavailable`: nothing refers to a blob before its `put` has resolved, so a retry is safe.
 */
export class FolderBlobs implements Blobs {
  private writes = 0;

  constructor(
    private readonly root: string,
    private readonly disk: Disk = nodeDisk,
  ) {}

  put(tenantId: string, sha256: string, bytes: Uint8Array): Promise<void> {
    return mapDiskErrors(() => this.write(this.folder(tenantId, sha256), sha256, bytes));
  }

  get(tenantId: string, sha256: string): Promise<Uint8Array | null> {
    return this.read(tenantId, sha256, readWhole);
  }

  size(tenantId: string, sha256: string): Promise<number | null> {
    return this.read(tenantId, sha256, (file) => file.size());
  }

  private async write(folder: string, sha256: string, bytes: Uint8Array): Promise<void> {
    const existingSize = await withFile(this.disk, `${folder}/${sha256}`, (file) => file.size());
    // An earlier writer may have failed to make the name of the blob durable.
    if (existingSize === bytes.byteLength) return this.disk.syncFolder(folder);
    await this.disk.makeFolder(folder);
    this.writes += 1;
    const temporaryPath = `${folder}/${sha256}.${process.pid}.${this.writes}.part`;
    try {
      await appendSynced(this.disk, temporaryPath, [bytes], 0o600);
      await this.disk.rename(temporaryPath, `${folder}/${sha256}`);
      await this.disk.syncFolder(folder);
    } finally {
      await this.disk.unlink(temporaryPath);
    }
  }

  private read<T>(tenantId: string, sha256: string, work: (file: DiskFile) => Promise<T>): Promise<T | null> {
    return mapDiskErrors(() => withFile(this.disk, `${this.folder(tenantId, sha256)}/${sha256}`, work));
  }

  private folder(tenantId: string, sha256: string): string {
    // The hash comes from outside: anything else must not become part of a path.
    if (!SHA256.test(sha256)) throw new Error('The name of a blob must be its SHA-256.');
    return `${tenantFolder(`${this.root}/${BLOBS_FOLDER}`, tenantId)}/${sha256.slice(0, 2)}`;
  }
}

/** Replaces the messages of disk errors: they contain paths of this machine, which callers must not see. */
async function mapDiskErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    const failureText = FAILURE_TEXTS[code] ?? `The disk returned ${code}. Check the disk of the server`;
    throw new StoreUnavailable(`${failureText}, then try again.`);
  }
}
