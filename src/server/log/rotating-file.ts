import { constants } from 'node:fs';
import { type FileHandle, open, rename, stat } from 'node:fs/promises';
import { unlessMissing } from '../../stores/file/disk.js';
import type { AppendBytes } from './line-writer.js';

export interface RotationLimits {
  /** When the next line does not fit, the file is renamed and a new one is begun. */
  readonly file_bytes_max: number;
  /** How many renamed files are kept: NAME.1 is the newest of them. */
  readonly old_files_max: number;
}

/** At most 320 MiB together. */
const DEFAULT_ROTATION: RotationLimits = { file_bytes_max: 64 * 1024 * 1024, old_files_max: 4 };

const OWNER_ONLY = 0o600;
/** No links and no blocking: the folder may come from a repository, with a link to any file, or a pipe without a reader. */
const APPEND_FLAGS =
  constants.O_WRONLY |
  constants.O_APPEND |
  constants.O_CREAT |
  (constants.O_NOFOLLOW ?? 0) |
  (constants.O_NONBLOCK ?? 0);
/** Maximum number of rotations for one write: another process that writes to the same file may fill the new one at once. */
const ROTATIONS_MAX = 3;
const NEWLINE = 0x0a;

/** A file of lines with a limited size, readable by its owner only. A line is never divided between two files. */
export class RotatingFile {
  private file: FileHandle | null = null;
  private bytes = 0;
  /** Whether the file ends in the middle of a line. */
  private isTorn = false;

  constructor(
    private readonly path: string,
    private readonly limits = DEFAULT_ROTATION,
  ) {}

  /** Rejects if the file cannot be written by this user, or is not a regular file. */
  async open(): Promise<void> {
    await this.openedFile();
  }

  /** Writes as many whole lines as fit into one file, and at least a part of one line. */
  readonly append: AppendBytes = async (bytes) => {
    for (let rotations = 0; ; rotations += 1) {
      const file = await this.openedFile();
      const length = this.fittingLength(bytes);
      if (length > 0) {
        const { bytesWritten } = await file.write(bytes, 0, length);
        this.bytes += bytesWritten;
        if (bytesWritten > 0) this.isTorn = bytes[bytesWritten - 1] !== NEWLINE;
        return bytesWritten;
      }
      if (rotations === ROTATIONS_MAX)
        throw unwritableError(
          'EBUSY',
          `${this.path} is full after ${ROTATIONS_MAX} rotations. Another process may write to it: use another file.`,
        );
      await this.rotate(file);
    }
  };

  async close(): Promise<void> {
    const { file } = this;
    this.file = null;
    await file?.close();
  }

  /**
   * How many of the bytes are written to this file: only whole lines that fit. But an empty file gets one line of any size,
   * and a file that ends in the middle of a line gets the rest of that line.
   */
  private fittingLength(bytes: Buffer): number {
    const freeBytes = this.limits.file_bytes_max - this.bytes;
    if (bytes.length <= freeBytes) return bytes.length;
    const wholeLinesLength = freeBytes <= 0 ? 0 : bytes.lastIndexOf(NEWLINE, freeBytes - 1) + 1;
    const mustTakeLine = this.isTorn || this.bytes === 0;
    return wholeLinesLength === 0 && mustTakeLine
      ? bytes.indexOf(NEWLINE) + 1 || bytes.length
      : wholeLinesLength;
  }

  private async openedFile(): Promise<FileHandle> {
    if (this.file !== null) return this.file;
    const file = await open(this.path, APPEND_FLAGS, OWNER_ONLY);
    try {
      const status = await file.stat();
      if (!status.isFile()) throw unwritableError('EINVAL', `${this.path} is not a regular file.`);
      if ((status.mode & 0o777) !== OWNER_ONLY) await file.chmod(OWNER_ONLY);
      this.bytes = status.size;
    } catch (error) {
      await file.close();
      throw error;
    }
    this.file = file;
    this.isTorn = false;
    return file;
  }

  private async rotate(file: FileHandle): Promise<void> {
    // Another process, or the operator, may have renamed the file already: then only a new one is opened.
    const [opened, atPath] = await Promise.all([file.stat(), stat(this.path).catch(() => null)]);
    if (atPath?.ino === opened.ino && atPath.dev === opened.dev) await this.shiftNames();
    await this.close();
  }

  /** The oldest file is overwritten. */
  private async shiftNames(): Promise<void> {
    const nameOf = (age: number): string => (age === 0 ? this.path : `${this.path}.${age}`);
    for (let age = this.limits.old_files_max; age > 0; age -= 1) {
      await unlessMissing(rename(nameOf(age - 1), nameOf(age)), undefined);
    }
  }
}

const unwritableError = (code: string, message: string): NodeJS.ErrnoException =>
  Object.assign(new Error(message), { code });
