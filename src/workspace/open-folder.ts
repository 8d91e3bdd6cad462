import { type BigIntStats, constants, existsSync } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { isErrorCode } from '../stores/file/disk.js';
import { nodeDisk } from '../stores/file/node-disk.js';

/** On Linux, `/proc/self/fd` reaches names in an open folder even after its path has changed. */
const HAS_HANDLE_PATHS = process.platform === 'linux' && existsSync('/proc/self/fd');

type FolderFault = 'absent' | 'symlink' | 'not_a_folder';

type FileIdentity = Pick<BigIntStats, 'dev' | 'ino'>;

/**
 * A folder opened name by name without following links. With handle paths, names are resolved in the same folder even
 * if someone puts a link in its place. Without them, `isInPlace` detects the replacement afterwards.
 */
export class OpenFolder {
  private constructor(
    private readonly path: string,
    private readonly identity: FileIdentity,
    private readonly handle: FileHandle | null,
    private readonly parent: OpenFolder | null,
  ) {}

  /** Opens exactly this path: a link in its place is refused. Its parents are trusted. */
  static openExact(path: string): Promise<OpenFolder | FolderFault> {
    return OpenFolder.openAt(path, null, HAS_HANDLE_PATHS);
  }

  /**
   * Opens the folder at a path below `root`, `.` being the root itself, and closes the folders on the way. The root
   * is trusted and may be a link. A link below the root is refused.
   */
  static async openBelow(
    root: string,
    path: string,
    { make = false, by_handle: byHandle = HAS_HANDLE_PATHS } = {},
  ): Promise<OpenFolder | FolderFault> {
    let folder = await OpenFolder.openAt(await realpath(root).catch(() => root), null, byHandle);
    for (const name of path === '.' ? [] : path.split('/')) {
      if (typeof folder === 'string') return folder;
      const next: OpenFolder | FolderFault = await folder.enter(name, { make });
      await folder.close();
      folder = next;
    }
    return folder;
  }

  async enter(name: string, { make = false } = {}): Promise<OpenFolder | FolderFault> {
    const folder = await OpenFolder.openAt(this.pathOf(name), this, this.handle !== null);
    if (folder !== 'absent' || !make) return folder;
    try {
      await mkdir(this.pathOf(name));
    } catch (error) {
      if (!isErrorCode(error, 'EEXIST')) throw error;
    }
    await this.sync();
    return OpenFolder.openAt(this.pathOf(name), this, this.handle !== null);
  }

  /** A path to a name in this folder. Use it at once: it ends with the open handle, or may later lead to another folder. */
  pathOf(name: string): string {
    return join(this.handle === null ? this.path : `/proc/self/fd/${this.handle.fd}`, name);
  }

  /** The path of a name that need not be valid UTF-8. */
  bytePathOf(name: Buffer): Buffer {
    return Buffer.concat([Buffer.from(`${this.pathOf('.')}/`), name]);
  }

  names(): Promise<Buffer[]> {
    return readdir(this.pathOf('.'), { encoding: 'buffer' });
  }

  /** Whether `pathOf` still leads to this folder: always with a handle, else only if the folder's path still leads to it. */
  async isInPlace(): Promise<boolean> {
    if (this.handle !== null) return true;
    const stats = await lstat(this.path, { bigint: true }).catch(() => null);
    if (stats === null || !stats.isDirectory() || !isSameFile(stats, this.identity)) return false;
    return this.parent === null || this.parent.isInPlace();
  }

  sync(): Promise<void> {
    return this.handle === null ? nodeDisk.syncFolder(this.path) : this.handle.sync();
  }

  async close(): Promise<void> {
    await this.handle?.close();
  }

  private static async openAt(
    path: string,
    parent: OpenFolder | null,
    byHandle: boolean,
  ): Promise<OpenFolder | FolderFault> {
    if (!byHandle) return OpenFolder.openByPath(path, parent);
    try {
      const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
      return new OpenFolder(path, await handle.stat({ bigint: true }), handle, parent);
    } catch (error) {
      if (isErrorCode(error, 'ENOENT')) return 'absent';
      if (!isErrorCode(error, 'ENOTDIR') && !isErrorCode(error, 'ELOOP')) throw error;
      const opened = await OpenFolder.openByPath(path, parent);
      return typeof opened === 'string' ? opened : 'not_a_folder';
    }
  }

  private static async openByPath(
    path: string,
    parent: OpenFolder | null,
  ): Promise<OpenFolder | FolderFault> {
    try {
      const stats = await lstat(path, { bigint: true });
      if (stats.isSymbolicLink()) return 'symlink';
      return stats.isDirectory() ? new OpenFolder(path, stats, null, parent) : 'not_a_folder';
    } catch (error) {
      if (isErrorCode(error, 'ENOENT')) return 'absent';
      if (isErrorCode(error, 'ENOTDIR')) return 'not_a_folder';
      throw error;
    }
  }
}

export const isSameFile = (one: FileIdentity, other: FileIdentity): boolean =>
  one.dev === other.dev && one.ino === other.ino;
