import { constants, existsSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir } from 'node:fs/promises';
import { isErrorCode } from '../../stores/file/disk.js';

const FLAGS = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);
const OPEN_FILES = '/proc/self/fd';
const hasOpenFiles = existsSync(OPEN_FILES);

/** A link or a file lies where one agent's folder should be. */
export class NotAFolder extends Error {
  override readonly name = 'NotAFolder';
}

/**
 * A folder that is held open. What is done by a name in it happens in it, even if somebody puts a link in the place
 * of the folder meanwhile. Where the system offers no such names, the folder was none when it was opened.
 */
export class HeldFolder {
  private constructor(
    private readonly handle: FileHandle,
    private readonly base: string,
  ) {}

  /** Null where there is no such folder, or a link or a file in its place. */
  static async open(path: string): Promise<HeldFolder | null> {
    try {
      const handle = await open(path, FLAGS);
      return new HeldFolder(handle, hasOpenFiles ? `${OPEN_FILES}/${handle.fd}` : path);
    } catch (error) {
      if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EMLINK'].some((code) => isErrorCode(error, code))) return null;
      throw error;
    }
  }

  /** The same, made when it is not there. */
  static async make(path: string): Promise<HeldFolder> {
    await mkdir(path, { recursive: true });
    const folder = await HeldFolder.open(path);
    if (folder === null) throw new NotAFolder(`${path} is no folder. Put it away; it is made anew.`);
    return folder;
  }

  at(name: string): string {
    return `${this.base}/${name}`;
  }

  /** For names that are no text. */
  atBytes(name: Buffer): Buffer {
    return Buffer.concat([Buffer.from(`${this.base}/`), name]);
  }

  names(): Promise<Buffer[]> {
    return readdir(`${this.base}/`, { encoding: 'buffer' });
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}
