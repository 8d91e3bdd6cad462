import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { tenantIdSchema } from '../core/ids.js';
import type { Blobs } from './blobs.js';

const SHA256 = /^[0-9a-f]{64}$/;

/** Blobs in a folder, two levels deep. A blob appears whole or not at all. */
export class FolderBlobs implements Blobs {
  private writes = 0;

  constructor(private readonly root: string) {}

  async put(tenant_id: string, sha256: string, bytes: Uint8Array): Promise<void> {
    const path = this.path(tenant_id, sha256);
    if ((await sizeOf(path)) === bytes.byteLength) return;
    const folder = join(path, '..');
    await mkdir(folder, { recursive: true });
    this.writes += 1;
    const draft = `${path}.${process.pid}.${this.writes}.part`;
    try {
      await writeSynced(draft, bytes);
      await rename(draft, path);
      await syncFolder(folder);
    } finally {
      await rm(draft, { force: true });
    }
  }

  async get(tenant_id: string, sha256: string): Promise<Uint8Array | null> {
    try {
      return await readFile(this.path(tenant_id, sha256));
    } catch (error) {
      return absent(error);
    }
  }

  size(tenant_id: string, sha256: string): Promise<number | null> {
    return sizeOf(this.path(tenant_id, sha256));
  }

  private path(tenant_id: string, sha256: string): string {
    // Both come from outside: what is not a plain name never becomes a path.
    if (!tenantIdSchema.safeParse(tenant_id).success || !SHA256.test(sha256)) {
      throw new Error('a blob is named by its tenant and its SHA-256');
    }
    return join(this.root, tenant_id, 'blobs', sha256.slice(0, 2), sha256);
  }
}

async function sizeOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    return absent(error);
  }
}

function absent(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
  throw error;
}

async function writeSynced(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'w', 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
