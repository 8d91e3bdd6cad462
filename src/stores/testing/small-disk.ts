import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { skipGroup } from './on-database.js';

const MOUNT =
  'mount -t tmpfs -o "size=$1m,mode=777" none "$0" && echo here && cat >/dev/null; umount -l "$0"; rmdir "$0"';
const CHUNK = Buffer.alloc(64 * 1024);

/** Registers tests on a small disk, which only root may mount. The tests stop the disk. */
export async function onSmallDisk(
  name: string,
  sizeMib: number,
  tests: (disk: SmallDisk) => void | Promise<void>,
): Promise<void> {
  const disk = await SmallDisk.create(sizeMib);
  if (disk === null) skipGroup(name, 'only root can mount a small disk');
  else await tests(disk);
}

/** A separate file system, small enough to be filled. It is unmounted by `stop`, or when the process of the test ends. */
export class SmallDisk {
  private constructor(
    readonly folder: string,
    private readonly keeper: { end(): void },
  ) {}

  /** Null: this process may not mount one. */
  static async create(sizeMib: number): Promise<SmallDisk | null> {
    const folder = mkdtempSync(join(tmpdir(), 'genesis-small-disk-'));
    chmodSync(folder, 0o755);
    const keeper = spawn('sh', ['-c', MOUNT, folder, String(sizeMib)], {
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
    });
    const mounted = once(keeper.stdout, 'data').then(() => true);
    const failed = once(keeper, 'exit').then(() => false);
    if (!(await Promise.race([mounted, failed]))) return null;
    keeper.unref();
    for (const pipe of [keeper.stdin, keeper.stdout]) (pipe as unknown as { unref(): void }).unref();
    return new SmallDisk(folder, keeper.stdin);
  }

  /** Fills the disk until not a byte fits any more. */
  fill(): void {
    const file = openSync(this.filler, 'a');
    try {
      for (let length = CHUNK.length; length >= 1; length = length >> 1) {
        try {
          while (writeSync(file, CHUNK, 0, length) > 0);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        }
      }
    } finally {
      closeSync(file);
    }
  }

  freeSpace(): void {
    rmSync(this.filler, { force: true });
  }

  stop(): void {
    this.keeper.end();
  }

  private get filler(): string {
    return join(this.folder, 'filler');
  }
}
