import { constants } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { sha256Hex } from '../../coordinator/identity.js';
import { isErrorCode } from '../../stores/file/disk.js';
import { OpenFolder } from '../open-folder.js';

/** One name per file: what a crash left behind is written over, not added to. */
const temporaryName = (name: string): string => `.gen-${sha256Hex(name).slice(0, 16)}.part`;

export interface FileWrite {
  readonly bytes: Uint8Array;
  /** Null: what the system gives a new file. */
  readonly mode?: number | null;
  readonly executable?: boolean;
  /** The last look before the file takes its place; false leaves everything as it was. */
  readonly isStillExpected?: () => Promise<boolean>;
}

/** The file appears whole, under a name that no link led to, or not at all. The folder is left for the caller to sync. */
export async function writeSafely(folder: OpenFolder, name: string, file: FileWrite): Promise<boolean> {
  const temporary = folder.pathOf(temporaryName(name));
  await rm(temporary, { force: true });
  try {
    await writeTemporary(temporary, file);
    const { isStillExpected: stillRight = async () => true } = file;
    if (!(await stillRight()) || !(await folder.isInPlace())) return false;
    await rename(temporary, folder.pathOf(name));
    return true;
  } catch (error) {
    // A folder of that name, or one that is gone: no place for a file.
    if (['EISDIR', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'ENOENT'].some((code) => isErrorCode(error, code))) {
      return false;
    }
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
}

async function writeTemporary(
  temporary: string,
  { bytes, mode = null, executable = false }: FileWrite,
): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
  const file = await open(temporary, flags, executable ? 0o777 : 0o666);
  try {
    if (mode !== null) await file.chmod(mode);
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Writes a file at a path below the root, makes the folders it needs, and has all of it durable. */
export async function writeBelow(root: string, path: readonly string[], file: FileWrite): Promise<boolean> {
  const folder = await OpenFolder.openBelow(root, path.slice(0, -1), { make: true });
  if (typeof folder === 'string') return false;
  try {
    const written = await writeSafely(folder, path.at(-1) as string, file);
    await folder.sync();
    return written;
  } finally {
    await folder.close();
  }
}
