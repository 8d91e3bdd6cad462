import { constants } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { sha256Hex } from '../../coordinator/identity.js';
import { isErrorCode } from '../../stores/file/disk.js';
import { HeldFolder } from '../held-folder.js';

/** One name per file: what a crash left behind is written over, not added to. */
const partName = (name: string): string => `.gen-${sha256Hex(name).slice(0, 16)}.part`;

export interface Writing {
  readonly bytes: Uint8Array;
  /** Null: what the system gives a new file. */
  readonly mode?: number | null;
  readonly executable?: boolean;
  /** The last look before the file takes its place; false leaves everything as it was. */
  readonly stillRight?: () => Promise<boolean>;
}

/** The file appears whole, under a name that no link led to, or not at all. The folder is left for the caller to sync. */
export async function writeSafely(folder: HeldFolder, name: string, writing: Writing): Promise<boolean> {
  const part = folder.nameOf(partName(name));
  await rm(part, { force: true });
  try {
    await writePart(part, writing);
    const { stillRight = async () => true } = writing;
    if (!(await stillRight()) || !(await folder.isThere())) return false;
    await rename(part, folder.nameOf(name));
    return true;
  } catch (error) {
    // A folder of that name, or one that is gone: no place for a file.
    if (['EISDIR', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'ENOENT'].some((code) => isErrorCode(error, code))) {
      return false;
    }
    throw error;
  } finally {
    await rm(part, { force: true });
  }
}

async function writePart(part: string, { bytes, mode = null, executable = false }: Writing): Promise<void> {
  const how = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
  const file = await open(part, how, executable ? 0o777 : 0o666);
  try {
    if (mode !== null) await file.chmod(mode);
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Writes a file at a path below the root, makes the folders it needs, and has all of it durable. */
export async function writeBelow(root: string, path: readonly string[], writing: Writing): Promise<boolean> {
  const folder = await HeldFolder.reach(root, path.slice(0, -1), { make: true });
  if (typeof folder === 'string') return false;
  try {
    const written = await writeSafely(folder, path.at(-1) as string, writing);
    await folder.sync();
    return written;
  } finally {
    await folder.close();
  }
}
