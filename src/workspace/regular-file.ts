import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';

// A link is not followed, and nobody waits for whoever should write into a pipe.
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

export type FileFault = 'missing' | 'link' | 'not_a_file' | 'hard_link' | 'too_large';

/**
 * Reads a file whole, if it is a plain file of at most so many bytes that has no second name. At once: such files are
 * small, and giving way four times for each takes ten times as long as reading it.
 */
export function readRegular(path: string, bytes_max: number): Buffer | FileFault {
  return read<never>(path, bytes_max, () => null);
}

export interface PrivateFault {
  readonly fault: FileFault | 'other_owner' | 'open_to_others';
  /** What is wrong, after the path. */
  readonly says: string;
}

/**
 * The same, of a file that nobody but this user can have written or read. Windows has neither owners nor modes that
 * Node can see: there the folder decides.
 */
export function readPrivate(path: string, bytes_max: number): Buffer | PrivateFault {
  const uid = process.getuid?.();
  let mode = 0;
  const found = read(path, bytes_max, (stats) => {
    mode = stats.mode & 0o777;
    if (uid === undefined) return null;
    if (stats.uid !== uid) return 'other_owner';
    return (mode & 0o077) === 0 ? null : 'open_to_others';
  });
  if (Buffer.isBuffer(found)) return found;
  const says = {
    ...FAULT_SAYS,
    open_to_others: `is open to others (mode ${mode.toString(8)}): expected 600`,
  };
  return { fault: found, says: says[found] };
}

const FAULT_SAYS = {
  missing: 'is not there',
  link: 'is a link',
  not_a_file: 'is not a file',
  hard_link: 'has a second name',
  too_large: 'is too large',
  other_owner: 'belongs to another user',
};

function read<F extends string>(
  path: string,
  bytes_max: number,
  judge: (stats: Stats) => F | null,
): Buffer | FileFault | F {
  let file: number;
  try {
    file = openSync(path, FLAGS);
  } catch (error) {
    const fault = FAULT_OF_CODE[(error as NodeJS.ErrnoException).code ?? ''];
    if (fault === undefined) throw error;
    return fault;
  }
  try {
    return readOpened(file, bytes_max, judge);
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

function readOpened<F extends string>(
  file: number,
  bytes_max: number,
  judge: (stats: Stats) => F | null,
): Buffer | FileFault | F {
  const found = fstatSync(file);
  if (!found.isFile()) return 'not_a_file';
  const judged = judge(found);
  if (judged !== null) return judged;
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
