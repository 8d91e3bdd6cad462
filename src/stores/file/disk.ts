/**
 * The file store's only access to a disk, so that a simulator can run the same code on a simulated disk. Every member
 * may reject with an error that carries a `code` like Node's (`ENOSPC`, `EIO`, `ENOENT` …).
 */
export interface Disk {
  /** Opens for reading and appending; creates the file if needed. `mode` applies to a new file only. */
  openAppend(path: string, mode?: number): Promise<DiskFile>;

  /** Opens for reading; null if there is no such file. */
  openRead(path: string): Promise<DiskFile | null>;

  /** The size of a file, without opening it; null if there is no such file. */
  sizeOf(path: string): Promise<number | null>;

  /** Opens for writing at any place; creates the file if needed. */
  openUpdate(path: string): Promise<UpdatableFile>;

  /** Renames a file, and replaces an existing `to`. Durable once both folders are synced. */
  rename(from: string, to: string): Promise<void>;

  /** Removes a file, if it exists. */
  unlink(path: string): Promise<void>;

  /** Removes a folder with its contents, if it exists. */
  removeFolder(path: string): Promise<void>;

  /** Creates a folder and its parents durably. Does nothing if the folder exists, even if it is not durable. */
  makeFolder(path: string): Promise<void>;

  /** The names in a folder, unordered; empty if there is no such folder. */
  list(path: string): Promise<string[]>;

  /** Makes changes to the names in a folder durable: files created, renamed or removed. */
  syncFolder(path: string): Promise<void>;

  /**
   * Takes the lock; null while a live process holds it. The lock of a process that has ended is free at once. A frozen
   * process keeps its lock.
   */
  lock(path: string): Promise<Lock | null>;

  /** What the lock's owner wrote about itself; empty if unknown. */
  lockOwner(path: string): Promise<string>;

  /** Waits a few milliseconds, so that another program can finish a write. */
  pause(): Promise<void>;
}

/** A file that is only read. */
export type ReadableFile = Pick<DiskFile, 'read' | 'size' | 'close'>;

export interface DiskFile {
  /** Appends, and returns the number of bytes written: fewer than given if the disk is full. */
  write(bytes: Uint8Array): Promise<number>;

  /** Fills `into` from `position` on, and returns the number of bytes read. */
  read(into: Uint8Array, position: number): Promise<number>;

  /** Makes the contents durable. After a failure, nothing is known about the writes since the last success. */
  sync(): Promise<void>;

  truncate(size: number): Promise<void>;

  size(): Promise<number>;

  close(): Promise<void>;
}

/** A file whose contents can be replaced. A `DiskFile`, in contrast, can only be written at its end. */
export interface UpdatableFile extends Pick<DiskFile, 'sync' | 'size' | 'close'> {
  /** Writes all bytes at a position, or rejects. The file grows if needed. */
  writeAt(bytes: Uint8Array, position: number): Promise<void>;
}

export interface Lock {
  release(): Promise<void>;
}

export const isErrorCode = (error: unknown, code: string): boolean =>
  error instanceof Error && (error as NodeJS.ErrnoException).code === code;

/** The result of a lookup, or `missing` if there is no such file or folder. */
export async function unlessMissing<T, Missing>(lookup: Promise<T>, missing: Missing): Promise<T | Missing> {
  try {
    return await lookup;
  } catch (error) {
    if (isErrorCode(error, 'ENOENT')) return missing;
    throw error;
  }
}

/** Reads `length` bytes; fewer only at the end of the file. */
export async function readFully(
  file: Pick<DiskFile, 'read'>,
  position: number,
  length: number,
): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const count = await file.read(bytes.subarray(filled), position + filled);
    if (count === 0) break;
    filled += count;
  }
  return bytes.subarray(0, filled);
}

export const readWhole = async (file: DiskFile): Promise<Buffer> => readFully(file, 0, await file.size());

/** Reads from a file and closes it; null if there is no such file. */
export async function withFile<T>(
  disk: Disk,
  path: string,
  action: (file: DiskFile) => Promise<T>,
): Promise<T | null> {
  const file = await disk.openRead(path);
  if (file === null) return null;
  try {
    return await action(file);
  } finally {
    await file.close();
  }
}

/** Reads a whole small file; null if there is none. */
export const readSmallFile = async (disk: Disk, path: string): Promise<string | null> =>
  (await withFile(disk, path, readWhole))?.toString('utf8') ?? null;

/** Appends all bytes, or throws `ENOSPC`. */
export async function writeFully(file: DiskFile, bytes: Uint8Array): Promise<void> {
  const writtenBytes = await file.write(bytes);
  if (writtenBytes === bytes.length) return;
  const error: NodeJS.ErrnoException = new Error(
    `only ${writtenBytes} of ${bytes.length} bytes could be written`,
  );
  error.code = 'ENOSPC';
  throw error;
}

/** Appends to a file and makes its contents durable; a new name is durable once its folder is synced. */
export async function appendSynced(
  disk: Disk,
  path: string,
  chunks: Iterable<Uint8Array>,
  mode?: number,
): Promise<void> {
  const file = await disk.openAppend(path, mode);
  try {
    for (const chunk of chunks) await writeFully(file, chunk);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Writes a file so that a crash leaves either the old or the new version. */
export async function writeAtomically(
  disk: Disk,
  folder: string,
  name: string,
  content: string | Uint8Array,
  mode?: number,
): Promise<void> {
  const temporary = `${folder}/${name}.tmp`;
  await disk.unlink(temporary);
  await appendSynced(disk, temporary, [Buffer.from(content)], mode);
  await disk.rename(temporary, `${folder}/${name}`);
  await disk.syncFolder(folder);
}
