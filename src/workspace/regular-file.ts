import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';

// Do not follow links, and do not block on a pipe without a writer.
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

export const isAccessError = (error: unknown): boolean =>
  ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');

export type FileFault = 'missing' | 'link' | 'not_a_file' | 'hard_link' | 'too_large';

/**
 * Reads a whole file, if it is a regular file of at most `bytesMax` bytes with one hard link. Synchronous: such
 * files are small, and four asynchronous calls per file take ten times as long.
 */
export function readRegularFile(path: string, bytesMax: number): Buffer | FileFault {
  return readChecked<never>(path, bytesMax, () => null);
}

/**
 * Reads a regular file that only this user can have written or read. On Windows Node sees neither owner nor mode, so
 * access to the folder decides. A message says what is wrong, as text that follows the path.
 */
export function readUserOnlyFile(
  path: string,
  bytesMax: number,
): Buffer | { readonly fault: FileFault | 'other_owner' | 'open_to_others'; readonly message: string } {
  const uid = process.getuid?.();
  let mode = 0;
  const content = readChecked(path, bytesMax, (stats) => {
    mode = stats.mode & 0o777;
    if (uid === undefined) return null;
    if (stats.uid !== uid) return 'other_owner';
    return (mode & 0o077) === 0 ? null : 'open_to_others';
  });
  if (Buffer.isBuffer(content)) return content;
  const messages = {
    missing: 'does not exist',
    link: 'is a link',
    not_a_file: 'is not a file',
    hard_link: 'has more than one hard link',
    too_large: 'is too large',
    other_owner: 'belongs to another user',
    open_to_others: `is accessible to other users (mode ${mode.toString(8)}): expected mode 600`,
  };
  return { fault: content, message: messages[content] };
}

const FAULT_OF_CODE: Readonly<Record<string, FileFault>> = {
  ENOENT: 'missing',
  ELOOP: 'link',
  EMLINK: 'link',
  EISDIR: 'not_a_file',
  // A socket, or a device without a driver.
  ENXIO: 'not_a_file',
};

function readChecked<F extends string>(
  path: string,
  bytesMax: number,
  check: (stats: Stats) => F | null,
): Buffer | FileFault | F {
  let file: number | null = null;
  try {
    file = openSync(path, OPEN_FLAGS);
    const stats = fstatSync(file);
    if (!stats.isFile()) return 'not_a_file';
    const fault = check(stats);
    if (fault !== null) return fault;
    if (stats.nlink !== 1) return 'hard_link';
    return stats.size > bytesMax ? 'too_large' : readToEnd(file, stats.size);
  } catch (error) {
    const fault = FAULT_OF_CODE[(error as NodeJS.ErrnoException).code ?? ''];
    if (fault === undefined) throw error;
    return fault;
  } finally {
    if (file !== null) closeSync(file);
  }
}

function readToEnd(file: number, sizeBytes: number): Buffer {
  // At most one byte more than the size that was checked is read, however much the file grows meanwhile.
  const bytes = Buffer.allocUnsafe(sizeBytes + 1);
  let filled = 0;
  while (filled < bytes.length) {
    const count = readSync(file, bytes, filled, bytes.length - filled, filled);
    if (count === 0) break;
    filled += count;
  }
  return bytes.subarray(0, filled);
}
