import { constants, existsSync } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { isErrorCode } from '../stores/file/disk.js';
import { nodeDisk } from '../stores/file/node-disk.js';

/** Linux reaches the names in an open folder through its handle, whatever has become of the path to it. */
const HANDLES_ARE_PATHS = process.platform === 'linux' && existsSync('/proc/self/fd');

export type NoFolder = 'absent' | 'symlink' | 'not_a_folder';

interface Identity {
  readonly dev: bigint;
  readonly ino: bigint;
}

/**
 * A folder that was walked into name by name, following no link. Where handles are paths it stays the folder it was,
 * even when somebody puts a link in its place; elsewhere `isThere` tells afterwards whether somebody has.
 */
export class HeldFolder {
  private constructor(
    private readonly path: string,
    private readonly identity: Identity,
    private readonly handle: FileHandle | null,
    private readonly above: HeldFolder | null,
  ) {}

  /** `root` is believed, and may be a link; nothing below it is. */
  static async open(root: string, by_handle = HANDLES_ARE_PATHS): Promise<HeldFolder | NoFolder> {
    const path = await realpath(root).catch(() => root);
    return HeldFolder.at(path, null, by_handle);
  }

  /** The folder of this very path: a link in its place is none. What leads to it is believed. */
  static itself(path: string, by_handle = HANDLES_ARE_PATHS): Promise<HeldFolder | NoFolder> {
    return HeldFolder.at(path, null, by_handle);
  }

  /** Walks down from `root`; what it passes through is closed again. */
  static async reach(
    root: string,
    names: readonly string[],
    how: { make?: boolean; by_handle?: boolean } = {},
  ): Promise<HeldFolder | NoFolder> {
    let folder = await HeldFolder.open(root, how.by_handle);
    for (const name of names) {
      if (typeof folder === 'string') return folder;
      const next: HeldFolder | NoFolder = await folder.enter(name, how);
      await folder.close();
      folder = next;
    }
    return folder;
  }

  async enter(name: string, { make = false } = {}): Promise<HeldFolder | NoFolder> {
    const there = await HeldFolder.at(this.nameOf(name), this, this.handle !== null);
    if (there !== 'absent' || !make) return there;
    try {
      await mkdir(this.nameOf(name));
    } catch (error) {
      if (!isErrorCode(error, 'EEXIST')) throw error;
    }
    await this.sync();
    return HeldFolder.at(this.nameOf(name), this, this.handle !== null);
  }

  /** A path to a name in this folder, good for one call to the system. */
  nameOf(name: string): string {
    return join(this.handle === null ? this.path : `/proc/self/fd/${this.handle.fd}`, name);
  }

  /** The same for a name that need not be text. */
  bytesOf(name: Buffer): Buffer {
    return Buffer.concat([Buffer.from(`${this.nameOf('.')}/`), name]);
  }

  names(): Promise<Buffer[]> {
    return readdir(this.nameOf('.'), { encoding: 'buffer' });
  }

  async isThere(): Promise<boolean> {
    if (this.handle !== null) return true;
    const now = await lstat(this.path, { bigint: true }).catch(() => null);
    if (now === null || !now.isDirectory() || !isSame(now, this.identity)) return false;
    return this.above === null || this.above.isThere();
  }

  sync(): Promise<void> {
    return this.handle === null ? nodeDisk.syncFolder(this.path) : this.handle.sync();
  }

  async close(): Promise<void> {
    await this.handle?.close();
  }

  private static async at(
    path: string,
    above: HeldFolder | null,
    by_handle: boolean,
  ): Promise<HeldFolder | NoFolder> {
    if (!by_handle) return HeldFolder.looked(path, above);
    try {
      const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
      return new HeldFolder(path, await handle.stat({ bigint: true }), handle, above);
    } catch (error) {
      if (isErrorCode(error, 'ENOENT')) return 'absent';
      if (!isErrorCode(error, 'ENOTDIR') && !isErrorCode(error, 'ELOOP')) throw error;
      const looked = await HeldFolder.looked(path, above);
      return typeof looked === 'string' ? looked : 'not_a_folder';
    }
  }

  private static async looked(path: string, above: HeldFolder | null): Promise<HeldFolder | NoFolder> {
    try {
      const found = await lstat(path, { bigint: true });
      if (found.isSymbolicLink()) return 'symlink';
      return found.isDirectory() ? new HeldFolder(path, found, null, above) : 'not_a_folder';
    } catch (error) {
      if (isErrorCode(error, 'ENOENT')) return 'absent';
      if (isErrorCode(error, 'ENOTDIR')) return 'not_a_folder';
      throw error;
    }
  }
}

export const isSame = (one: Identity, other: Identity): boolean =>
  one.dev === other.dev && one.ino === other.ino;
