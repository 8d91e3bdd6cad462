import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

// A link is not followed, and nobody waits for whoever should write into a pipe.
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

export type FileFault = 'missing' | 'link' | 'not_a_file' | 'hard_link' | 'too_large';

/** Reads a file whole, if it is a plain file of at most so many bytes that has no second name. */
export async function readRegular(path: string, bytes_max: number): Promise<Buffer | FileFault> {
  let file: FileHandle;
  try {
    file = await open(path, FLAGS);
  } catch (error) {
    const fault = FAULT_OF_CODE[(error as NodeJS.ErrnoException).code ?? ''];
    if (fault === undefined) throw error;
    return fault;
  }
  try {
    return await readOpened(file, bytes_max);
  } finally {
    await file.close();
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

async function readOpened(file: FileHandle, bytes_max: number): Promise<Buffer | FileFault> {
  const found = await file.stat();
  if (!found.isFile()) return 'not_a_file';
  if (found.nlink !== 1) return 'hard_link';
  if (found.size > bytes_max) return 'too_large';
  // One byte more than it should have: a file that grows meanwhile is noticed, and no more of it is held.
  const bytes = Buffer.allocUnsafe(found.size + 1);
  let filled = 0;
  while (filled < bytes.length) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}
