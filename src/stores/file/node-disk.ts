import { type FileHandle, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { type Disk, type DiskFile, isErrorCode, type Lock } from './disk.js';

interface NativeLocks {
  tryLock(fd: number): boolean;
  unlock(fd: number): void;
}

// The package has no types, and is loaded only when a lock is requested.
const nativeLocks = (): NativeLocks => createRequire(import.meta.url)('fs-native-extensions') as NativeLocks;

/** The folders hold results and notes, which only the owner may read. */
const OWNER_ONLY = 0o700;

/** The disk of this machine. */
export const nodeDisk: Disk = {
  openAppend: async (path, mode) => new NodeFile(await open(path, 'a+', mode)),

  async openRead(path) {
    try {
      return new NodeFile(await open(path, 'r'));
    } catch (error) {
      if (isErrorCode(error, 'ENOENT')) return null;
      throw error;
    }
  },

  rename: (from, to) => rename(from, to),
  unlink: (path) => rm(path, { force: true }),
  removeFolder: (path) => rm(path, { force: true, recursive: true }),

  async makeFolder(path) {
    const first = await mkdir(path, { recursive: true, mode: OWNER_ONLY });
    if (first === undefined) return;
    // A new folder is an entry in its parent, so each parent must be durable too.
    const madeIn = dirname(resolve(first));
    for (let folder = dirname(resolve(path)); ; folder = dirname(folder)) {
      await nodeDisk.syncFolder(folder);
      if (folder === madeIn) return;
    }
  },

  async list(path) {
    try {
      return await readdir(path);
    } catch (error) {
      if (isErrorCode(error, 'ENOENT')) return [];
      throw error;
    }
  },

  async syncFolder(path) {
    // Windows cannot open a folder; its file systems journal names themselves.
    if (process.platform === 'win32') return;
    const folder = await open(path, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  },

  async lock(path) {
    const file = await open(path, 'a+');
    try {
      if (!nativeLocks().tryLock(file.fd)) {
        await file.close();
        return null;
      }
      await file.truncate(0);
      await file.write(`${process.pid}\n`);
      return new NodeLock(file);
    } catch (error) {
      await file.close();
      throw error;
    }
  },

  async lockOwner(path) {
    try {
      return (await readFile(path, 'utf8')).trim();
    } catch {
      return '';
    }
  },
};

class NodeFile implements DiskFile {
  constructor(private readonly file: FileHandle) {}

  async write(bytes: Uint8Array): Promise<number> {
    return (await this.file.write(bytes, 0, bytes.length, null)).bytesWritten;
  }

  async read(into: Uint8Array, position: number): Promise<number> {
    return (await this.file.read(into, 0, into.length, position)).bytesRead;
  }

  sync(): Promise<void> {
    return this.file.datasync();
  }

  truncate(size: number): Promise<void> {
    return this.file.truncate(size);
  }

  async size(): Promise<number> {
    return (await this.file.stat()).size;
  }

  close(): Promise<void> {
    return this.file.close();
  }
}

/** Held by an open file description: the operating system releases it when the process dies, and not before. */
class NodeLock implements Lock {
  constructor(private readonly file: FileHandle) {}

  async release(): Promise<void> {
    await this.file.close();
  }
}
