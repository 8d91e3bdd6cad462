import type { Disk, DiskFile, Lock } from '../../src/stores/file/disk.js';
import type { FileNode } from './file-node.js';
import { FolderNode, type Platter } from './platter.js';
import type { Process } from './process.js';
import type { Rng } from './rng.js';

/** How a disk misbehaves. Changed while the simulation runs. */
export interface DiskFaults {
  isFull: boolean;
  /** Of one write, that only part of it gets there. */
  write_failure_chance: number;
  /** Of one sync. */
  sync_failure_chance: number;
  /** How much longer than others this sync takes. */
  stallMs(path: string): number;
  befell(what: 'disk full' | 'write failure' | 'sync failure' | 'sync stalled'): void;
  /** A folder is there by this name now. */
  named(folder: string): void;
}

interface Pending {
  /** What may still reach the disk although the process that asked has died. */
  readonly finish: () => void;
}

/** The disk as one process sees it. What the process asked for happens a little later, or never. */
export class SimDisk implements Disk {
  private readonly pending = new Set<Pending>();

  constructor(
    private readonly platter: Platter,
    private readonly owner: Process,
    private readonly faults: DiskFaults,
    private readonly rng: Rng,
  ) {
    owner.whenDead(() => {
      for (const { finish } of this.pending) if (rng.chance(0.5)) finish();
      this.pending.clear();
    });
  }

  get isBusy(): boolean {
    return this.pending.size > 0;
  }

  async openAppend(path: string): Promise<DiskFile> {
    return this.later('open', () => {
      const there = this.platter.file(path);
      if (there !== null) return new SimFile(this, there, path);
      if (this.faults.isFull) throw this.full();
      const made = this.platter.makeFile(path);
      if (made === null) throw diskError('ENOENT', `no folder for ${path}`);
      return new SimFile(this, made, path);
    });
  }

  async openRead(path: string): Promise<DiskFile | null> {
    return this.later('open', () => {
      const file = this.platter.file(path);
      return file === null ? null : new SimFile(this, file, path);
    });
  }

  rename(from: string, to: string): Promise<void> {
    return this.later('rename', () => {
      if (!this.platter.rename(from, to)) throw diskError('ENOENT', `cannot rename ${from} to ${to}`);
      this.faults.named(to);
    });
  }

  unlink(path: string): Promise<void> {
    return this.later('unlink', () => this.platter.remove(path));
  }

  removeFolder(path: string): Promise<void> {
    return this.later('remove folder', () => this.platter.remove(path));
  }

  async makeFolder(path: string): Promise<void> {
    const made = await this.later('make folder', () => {
      if (this.platter.folder(path) !== null) return false;
      if (this.faults.isFull) throw this.full();
      this.platter.makeFolder(path);
      this.faults.named(path);
      return true;
    });
    if (made) await this.later('sync new folders', () => this.syncAbove(path));
  }

  private syncAbove(path: string): void {
    const parts = path.split('/');
    for (let length = parts.length - 1; length >= 0; length -= 1) {
      const folder = this.platter.folder(parts.slice(0, length).join('/'));
      if (folder !== null) this.platter.syncFolder(folder);
    }
  }

  list(path: string): Promise<string[]> {
    return this.later('list', () => [...(this.platter.folder(path)?.names.keys() ?? [])]);
  }

  syncFolder(path: string): Promise<void> {
    return this.later('sync folder', () => {
      const folder = this.platter.folder(path);
      if (!(folder instanceof FolderNode)) throw diskError('ENOENT', `no folder ${path}`);
      this.maybeFailSync(() => {});
      this.platter.syncFolder(folder);
    });
  }

  lock(path: string): Promise<Lock | null> {
    return this.later('lock', () => {
      if (!this.platter.lock(path, this.owner)) return null;
      return { release: async () => this.platter.unlock(path, this.owner) };
    });
  }

  async lockOwner(path: string): Promise<string> {
    return this.platter.lockOwner(path);
  }

  write(file: FileNode, bytes: Uint8Array): Promise<number> {
    // A copy: the writer may use its buffer again.
    const copy = new Uint8Array(bytes);
    const finish = (): void => file.append(copy.subarray(0, this.rng.int(copy.length + 1)));
    const write = (): number => {
      if (this.rng.chance(this.faults.write_failure_chance)) {
        this.faults.befell('write failure');
        finish();
        throw diskError('EIO', 'the disk could not take it all');
      }
      if (!this.faults.isFull) {
        file.append(copy);
        return copy.length;
      }
      const taken = this.rng.int(copy.length);
      if (taken === 0 || this.rng.chance(0.5)) throw this.full();
      this.faults.befell('disk full');
      file.append(copy.subarray(0, taken));
      return taken;
    };
    return this.later('write', write, finish);
  }

  sync(file: FileNode, path: string): Promise<void> {
    const sync = (): void => {
      this.maybeFailSync(() => file.failSync(this.rng));
      file.sync();
    };
    const stall_ms = this.faults.stallMs(path);
    if (stall_ms > 0) this.faults.befell('sync stalled');
    return this.later('sync', sync, undefined, stall_ms);
  }

  later<T>(
    label: string,
    effect: () => T,
    finish: () => void = () => swallow(effect),
    longer_ms = 0,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const pending = { finish };
      this.pending.add(pending);
      this.owner.after(this.rng.between(0.05, 4) + longer_ms, label, () => {
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
    this.faults.befell('sync failure');
    damage();
    throw diskError('EIO', 'the disk could not write');
  }

  private full(): Error {
    this.faults.befell('disk full');
    return diskError('ENOSPC', 'no space left');
  }
}

class SimFile implements DiskFile {
  constructor(
    private readonly disk: SimDisk,
    private readonly file: FileNode,
    private readonly path: string,
  ) {}

  write(bytes: Uint8Array): Promise<number> {
    return this.disk.write(this.file, bytes);
  }

  read(into: Uint8Array, position: number): Promise<number> {
    return this.disk.later('read', () => {
      const bytes = this.file.content().subarray(position, position + into.length);
      into.set(bytes);
      return bytes.length;
    });
  }

  sync(): Promise<void> {
    return this.disk.sync(this.file, this.path);
  }

  truncate(size: number): Promise<void> {
    return this.disk.later('truncate', () => this.file.truncate(size));
  }

  async size(): Promise<number> {
    return this.file.content().length;
  }

  async close(): Promise<void> {}
}

function swallow(effect: () => unknown): void {
  try {
    effect();
  } catch {
    // The process that would have been told is dead.
  }
}

/** As Node's errors look: the store tells them apart by `code`, and a disk's from a bug by `syscall`. */
export const diskError = (code: string, says: string): Error =>
  Object.assign(new Error(`${code}: ${says}`), { code, syscall: 'simulated' });
