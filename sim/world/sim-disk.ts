import type { Disk, DiskFile, Lock, UpdatableFile } from '../../src/stores/file/disk.js';
import { type DiskImage, FolderNode } from './disk-image.js';
import type { FileNode } from './file-node.js';
import type { SimProcess } from './process.js';
import type { Rng } from './rng.js';

/** Faults of a disk. They change while the simulation runs. */
export interface DiskFaults {
  isFull: boolean;
  /** Chance that a write is only partly done. */
  write_failure_chance: number;
  /** Chance that a sync fails. */
  sync_failure_chance: number;
  /** How much longer a sync of the file at this path takes now. */
  stallMs(path: string): number;
  onFault(what: 'disk full' | 'write failure' | 'sync failure' | 'sync stalled'): void;
  /** Bytes are being appended to this file. */
  onAppend?(path: string, bytes: Uint8Array): void;
  /** Called when this path exists: a file was renamed to it, or it is a new folder. */
  onPathAppeared(folder: string): void;
}

interface PendingOperation {
  /** Applies the operation, a write perhaps only in part. Called for some pending operations when their process dies. */
  readonly finish: () => void;
}

/** The disk as one process sees it. Operations take effect a little later, or never. */
export class SimDisk implements Disk {
  private readonly pending = new Set<PendingOperation>();

  constructor(
    private readonly diskImage: DiskImage,
    private readonly owner: SimProcess,
    readonly faults: DiskFaults,
    private readonly rng: Rng,
  ) {
    owner.onKilled(() => {
      for (const { finish } of this.pending) if (rng.chance(0.5)) finish();
      this.pending.clear();
    });
  }

  get isBusy(): boolean {
    return this.pending.size > 0;
  }

  openAppend(path: string): Promise<DiskFile> {
    return this.openOrCreate(path);
  }

  openUpdate(path: string): Promise<UpdatableFile> {
    return this.openOrCreate(path);
  }

  private async openOrCreate(path: string): Promise<SimFile> {
    return this.runLater('open', () => {
      const existing = this.diskImage.fileAt(path);
      if (existing !== null) return new SimFile(this, existing, path);
      if (this.faults.isFull) throw this.diskFullError();
      const created = this.diskImage.makeFile(path);
      if (created === null) throw diskError('ENOENT', `no folder for ${path}`);
      return new SimFile(this, created, path);
    });
  }

  async openRead(path: string): Promise<DiskFile | null> {
    return this.runLater('open', () => {
      const file = this.diskImage.fileAt(path);
      return file === null ? null : new SimFile(this, file, path);
    });
  }

  sizeOf(path: string): Promise<number | null> {
    return this.runLater('size', () => this.diskImage.fileAt(path)?.content().length ?? null);
  }

  rename(from: string, to: string): Promise<void> {
    return this.runLater('rename', () => {
      if (!this.diskImage.rename(from, to)) throw diskError('ENOENT', `cannot rename ${from} to ${to}`);
      this.faults.onPathAppeared(to);
    });
  }

  unlink(path: string): Promise<void> {
    return this.runLater('unlink', () => this.diskImage.remove(path));
  }

  removeFolder(path: string): Promise<void> {
    return this.runLater('remove folder', () => this.diskImage.remove(path));
  }

  async makeFolder(path: string): Promise<void> {
    const wasCreated = await this.runLater('make folder', () => {
      if (this.diskImage.folderAt(path) !== null) return false;
      if (this.faults.isFull) throw this.diskFullError();
      this.diskImage.makeFolder(path);
      this.faults.onPathAppeared(path);
      return true;
    });
    if (wasCreated) await this.runLater('sync new folders', () => this.syncParents(path));
  }

  private syncParents(path: string): void {
    const parts = path.split('/');
    for (let length = parts.length - 1; length >= 0; length -= 1) {
      const folder = this.diskImage.folderAt(parts.slice(0, length).join('/'));
      if (folder !== null) this.diskImage.syncFolder(folder);
    }
  }

  list(path: string): Promise<string[]> {
    return this.runLater('list', () => [...(this.diskImage.folderAt(path)?.names.keys() ?? [])]);
  }

  syncFolder(path: string): Promise<void> {
    return this.runLater('sync folder', () => {
      const folder = this.diskImage.folderAt(path);
      if (!(folder instanceof FolderNode)) throw diskError('ENOENT', `no folder ${path}`);
      this.maybeFailSync(() => {});
      this.diskImage.syncFolder(folder);
    });
  }

  lock(path: string): Promise<Lock | null> {
    return this.runLater('lock', () => {
      if (!this.diskImage.lock(path, this.owner)) return null;
      return { release: async () => this.diskImage.unlock(path, this.owner) };
    });
  }

  async lockOwner(path: string): Promise<string> {
    return this.diskImage.lockOwner(path);
  }

  pause(): Promise<void> {
    return this.runLater('pause', () => {});
  }

  write(file: FileNode, bytes: Uint8Array): Promise<number> {
    // Copied, because the writer may reuse its buffer.
    const copy = new Uint8Array(bytes);
    const finish = (): void => file.append(copy.subarray(0, this.rng.int(copy.length + 1)));
    const write = (): number => {
      if (this.rng.chance(this.faults.write_failure_chance)) {
        this.faults.onFault('write failure');
        finish();
        throw diskError('EIO', 'the disk wrote only a part');
      }
      if (!this.faults.isFull) {
        file.append(copy);
        return copy.length;
      }
      const writtenBytes = this.rng.int(copy.length);
      if (writtenBytes === 0 || this.rng.chance(0.5)) throw this.diskFullError();
      this.faults.onFault('disk full');
      file.append(copy.subarray(0, writtenBytes));
      return writtenBytes;
    };
    return this.runLater('write', write, finish);
  }

  writeAt(file: FileNode, bytes: Uint8Array, position: number): Promise<void> {
    const copy = new Uint8Array(bytes);
    const finish = (): void => file.writeAt(position, copy.subarray(0, this.rng.int(copy.length + 1)));
    const write = (): void => {
      const isFull = this.faults.isFull && position + copy.length > file.content().length;
      if (!isFull && !this.rng.chance(this.faults.write_failure_chance)) {
        file.writeAt(position, copy);
        return;
      }
      finish();
      this.faults.onFault(isFull ? 'disk full' : 'write failure');
      throw diskError(isFull ? 'ENOSPC' : 'EIO', 'the disk wrote only a part');
    };
    return this.runLater('write', write, finish);
  }

  sync(file: FileNode, path: string): Promise<void> {
    const sync = (): void => {
      this.maybeFailSync(() => file.failSync(this.rng));
      file.sync();
    };
    const stallMs = this.faults.stallMs(path);
    if (stallMs > 0) this.faults.onFault('sync stalled');
    return this.runLater('sync', sync, undefined, stallMs);
  }

  runLater<T>(
    label: string,
    effect: () => T,
    finish: () => void = () => ignoreErrors(effect),
    extraMs = 0,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const pending = { finish };
      this.pending.add(pending);
      this.owner.runAfter(this.rng.between(0.05, 4) + extraMs, label, () => {
        this.pending.delete(pending);
        try {
          resolve(effect());
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  private maybeFailSync(damage: () => void): void {
    if (!this.rng.chance(this.faults.sync_failure_chance)) return;
    this.faults.onFault('sync failure');
    damage();
    throw diskError('EIO', 'the disk could not write');
  }

  private diskFullError(): Error {
    this.faults.onFault('disk full');
    return diskError('ENOSPC', 'no space left');
  }
}

class SimFile implements DiskFile, UpdatableFile {
  constructor(
    private readonly disk: SimDisk,
    private readonly file: FileNode,
    private readonly path: string,
  ) {}

  write(bytes: Uint8Array): Promise<number> {
    this.disk.faults.onAppend?.(this.path, bytes);
    return this.disk.write(this.file, bytes);
  }

  writeAt(bytes: Uint8Array, position: number): Promise<void> {
    return this.disk.writeAt(this.file, bytes, position);
  }

  read(into: Uint8Array, position: number): Promise<number> {
    return this.disk.runLater('read', () => {
      const bytes = this.file.content().subarray(position, position + into.length);
      into.set(bytes);
      return bytes.length;
    });
  }

  sync(): Promise<void> {
    return this.disk.sync(this.file, this.path);
  }

  truncate(size: number): Promise<void> {
    return this.disk.runLater('truncate', () => this.file.truncate(size));
  }

  async size(): Promise<number> {
    return this.file.content().length;
  }

  async close(): Promise<void> {}
}

function ignoreErrors(effect: () => unknown): void {
  try {
    effect();
  } catch {
    // The process that would see the error is dead.
  }
}

/** Shaped like Node's errors: the store reads `code`, and uses `syscall` to tell a disk error from a bug. */
export const diskError = (code: string, message: string): Error =>
  Object.assign(new Error(`${code}: ${message}`), { code, syscall: 'simulated' });
