import { StoreBroken, StoreUnavailable } from '../store.js';
import { type Disk, type DiskFile, isErrorCode, type UpdatableFile } from './disk.js';

/**
 * A disk on which a failed sync or truncate breaks the store. A failed sync is never retried: the operating system may
 * have dropped data that it could not write, and a second sync would succeed without that data. For the same reason no
 * other sync of the file counts after a failure, not even one that was already running: it may have lost the same data.
 */
export function strictDisk(disk: Disk): Disk {
  return {
    openAppend: async (path, mode) =>
      strictFile(await disk.openAppend(path, mode), new DurabilityGuard(path)),
    openRead: (path) => disk.openRead(path),
    sizeOf: (path) => disk.sizeOf(path),
    openUpdate: async (path) => strictUpdatable(await disk.openUpdate(path), new DurabilityGuard(path)),
    rename: (from, to) => disk.rename(from, to),
    unlink: (path) => disk.unlink(path),
    removeFolder: (path) => disk.removeFolder(path),
    makeFolder: (path) => disk.makeFolder(path),
    list: (path) => disk.list(path),
    syncFolder: (path) => new DurabilityGuard(path).run('made durable', () => disk.syncFolder(path)),
    lock: (path) => disk.lock(path),
    lockOwner: (path) => disk.lockOwner(path),
    pause: () => disk.pause(),
  };
}

const strictFile = (file: DiskFile, guard: DurabilityGuard): DiskFile => ({
  write: (bytes) => file.write(bytes),
  read: (into, position) => file.read(into, position),
  sync: () => guard.run('made durable', () => file.sync()),
  truncate: (size) => guard.run('truncated', () => file.truncate(size)),
  size: () => file.size(),
  close: () => file.close(),
});

const strictUpdatable = (file: UpdatableFile, guard: DurabilityGuard): UpdatableFile => ({
  writeAt: (bytes, position) => file.writeAt(bytes, position),
  sync: () => guard.run('made durable', () => file.sync()),
  size: () => file.size(),
  close: () => file.close(),
});

/** Refuses every further sync and truncate of an open file after the first one that failed. */
class DurabilityGuard {
  private failure: StoreBroken | null = null;

  constructor(private readonly path: string) {}

  async run(participle: string, action: () => Promise<void>): Promise<void> {
    if (this.failure !== null) throw this.failure;
    try {
      await action();
    } catch (error) {
      this.failure ??= new StoreBroken(
        `${this.path} could not be ${participle} (${messageOf(error)}). The last write may or may not be on the disk. ` +
          'Stop the server, check the disk, and restart: the log is then read from the disk again.',
      );
    }
    if (this.failure !== null) throw this.failure;
  }
}

/** Tells callers what they can do about a failed write; only the operator may see where the log is. */
export function notWrittenError(error: unknown): StoreUnavailable {
  const isFull = isErrorCode(error, 'ENOSPC') || isErrorCode(error, 'EDQUOT');
  return new StoreUnavailable(
    isFull
      ? 'The disk is full: the log cannot grow. Nothing was written. Free some space and try again.'
      : 'The log could not be written. Nothing was written. Try again.',
  );
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
