import { constants } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { posix } from 'node:path';
import { sha256Hex } from '../../coordinator/runtime/identity.js';
import { isErrorCode } from '../../stores/file/disk.js';
import { OpenFolder } from '../open-folder.js';

/** One temporary name per file, so that the next write of the file removes the leftover of a crash. */
const temporaryName = (name: string): string => `.gen-${sha256Hex(name).slice(0, 16)}.part`;

interface FileWrite {
  readonly bytes: Uint8Array;
  /** Null: the system's default for a new file. */
  readonly mode?: number | null;
  readonly executable?: boolean;
  /** The last check before the rename. If it returns false, the file stays unchanged. */
  readonly isStillExpected?: () => Promise<boolean>;
}

/**
 * Writes a file atomically, following no link. The caller must sync the folder. Returns false, and leaves the file as it
 * is, if the file is no longer as expected, its parent folder is gone, or a folder has its name.
 */
export async function writeSafely(folder: OpenFolder, name: string, file: FileWrite): Promise<boolean> {
  const temporary = folder.pathOf(temporaryName(name));
  await rm(temporary, { force: true });
  try {
    await writeTemporary(temporary, file);
    const { isStillExpected = async () => true } = file;
    if (!(await isStillExpected()) || !(await folder.isInPlace())) return false;
    await rename(temporary, folder.pathOf(name));
    return true;
  } catch (error) {
    // The name is that of a folder, or the parent folder was removed.
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

/** Writes a file at a path below the root, creates missing folders, and makes everything durable. */
export async function writeBelow(root: string, path: string, file: FileWrite): Promise<boolean> {
  const folder = await OpenFolder.openBelow(root, posix.dirname(path), { make: true });
  if (typeof folder === 'string') return false;
  try {
    const isWritten = await writeSafely(folder, posix.basename(path), file);
    await folder.sync();
    return isWritten;
  } finally {
    await folder.close();
  }
}
