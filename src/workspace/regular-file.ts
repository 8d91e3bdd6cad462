import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

// A link is not followed, and nobody waits for whoever should write into a pipe.
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

export type FileFault = 'missing' | 'link' | 'not_a_file' | 'hard_link' | 'too_large';

/**
 * Reads a file whole, if it is a plain file of at most so many bytes that has no second name. At once: such files are
 * small, and giving way four times for each takes ten times as long as reading it.
 */
export function readRegular(path: string, bytes_max: number): Buffer | FileFault {
  let file: number;
  try {
    file = openSync(path, FLAGS);
  } catch (error) {
    const fault = FAULT_OF_CODE[(error as NodeJS.ErrnoException).code ?? ''];
    if (fault === undefined) throw error;
    return fault;
  }
  try {
    return readOpened(file, bytes_max);
  } finally {
    closeSync(file);
  }
}

const FAULT_OF_CODE: Readonly<Record<string, FileFault>> = {
  ENOENT: 'missing',
  ELOOP: 'link',
  EMLINK: 'link',
  EISDIR: 'not_a_file',
  // A socket, or a device that nobody answers for.
  ENXIO: 'not_a_file',
};

function readOpened(file: number, bytes_max: number): Buffer | FileFault {
  const found = fstatSync(file);
  if (!found.isFile()) return 'not_a_file';
  if (found.nlink !== 1) return 'hard_link';
  if (found.size > bytes_max) return 'too_large';
  // One byte more than it should have: a file that grows meanwhile is noticed, and no more of it is held.
  const bytes = Buffer.allocUnsafe(found.size + 1);
  let filled = 0;
  while (filled < bytes.length) {
    const count = readSync(file, bytes, filled, bytes.length - filled, filled);
    if (count === 0) break;
    filled += count;
  }
  return bytes.subarray(0, filled);
}
