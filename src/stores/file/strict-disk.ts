import { StoreBroken } from '../store.js';
import type { Disk, DiskFile } from './disk.js';

/**
 * A disk on which a failed sync or truncate breaks the store. It is never retried: the operating system may have
 * dropped what it could not write, and a second sync would succeed without it.
 */
export function strictDisk(disk: Disk): Disk {
  return {
    openAppend: async (path, mode) => new StrictFile(await disk.openAppend(path, mode), path),
    openRead: (path) => disk.openRead(path),
    rename: (from, to) => disk.rename(from, to),
    unlink: (path) => disk.unlink(path),
    removeFolder: (path) => disk.removeFolder(path),
    makeFolder: (path) => disk.makeFolder(path),
    list: (path) => disk.list(path),
    syncFolder: (path) => orThrowBroken(path, 'made durable', disk.syncFolder(path)),
    lock: (path) => disk.lock(path),
    lockOwner: (path) => disk.lockOwner(path),
  };
}

class StrictFile implements DiskFile {
  constructor(
    private readonly file: DiskFile,
    private readonly path: string,
  ) {}

  write(bytes: Uint8Array): Promise<number> {
    return this.file.write(bytes);
  }

  read(into: Uint8Array, position: number): Promise<number> {
    return this.file.read(into, position);
  }

  sync(): Promise<void> {
    return orThrowBroken(this.path, 'made durable', this.file.sync());
  }

  truncate(size: number): Promise<void> {
    return orThrowBroken(this.path, 'cut back', this.file.truncate(size));
  }

  size(): Promise<number> {
    return this.file.size();
  }

  close(): Promise<void> {
    return this.file.close();
  }
}

async function orThrowBroken(path: string, what: string, action: Promise<void>): Promise<void> {
  try {
    await action;
  } catch (error) {
    throw new StoreBroken(
      `${path} could not be ${what} (${messageOf(error)}). What was written last may or may not be there. ` +
        'Stop, check the disk, and start again: the log is then read anew from the disk.',
    );
  }
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
