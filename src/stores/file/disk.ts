/**
 * The file store's only access to a disk, so that a simulator can run the same code on a simulated disk. Every member
 * may reject with an error that carries a `code` like Node's (`ENOSPC`, `EIO`, `ENOENT` …).
 */
export interface Disk {
  /** Opens for reading and appending; creates the file if needed. `mode` applies to a new file only. */
  openAppend(path: string, mode?: number): Promise<DiskFile>;

  /** Opens for reading; null if there is no such file. */
  openRead(path: string): Promise<DiskFile | null>;

  /** Replaces an existing `to`. Durable once both folders are synced. */
  rename(from: string, to: string): Promise<void>;

  /** Removes a file, if it exists. */
  unlink(path: string): Promise<void>;

  /** Removes a folder with its contents, if it exists. */
  removeFolder(path: string): Promise<void>;

  /** Creates a folder and its parents, durable when it resolves. Does nothing if the folder exists, durable or not. */
  makeFolder(path: string): Promise<void>;

  /** The names in a folder, unordered; empty if there is no such folder. */
  list(path: string): Promise<string[]>;

  /** Makes changes to the names in a folder durable: files created, renamed or removed. */
  syncFolder(path: string): Promise<void>;

  /**
   * Takes the lock; null while a live process holds it. The lock of a dead process is free at once, a frozen process
   * keeps it.
   */
  lock(path: string): Promise<Lock | null>;

  /** What the lock's owner wrote about itself; empty if unknown. */
  lockOwner(path: string): Promise<string>;
}

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

export interface Lock {
  release(): Promise<void>;
}

export const isErrorCode = (error: unknown, code: string): boolean =>
  error instanceof Error && (error as NodeJS.ErrnoException).code === code;

/** Reads `length` bytes; fewer only at the end of the file. */
export async function readFully(file: DiskFile, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const count = await file.read(bytes.subarray(filled), position + filled);
    if (count === 0) break;
    filled += count;
  }
  return bytes.subarray(0, filled);
}

/** Reads a whole small file; null if there is none. */
export async function readSmallFile(disk: Disk, path: string): Promise<string | null> {
  const file = await disk.openRead(path);
  if (file === null) return null;
  try {
    return (await readFully(file, 0, await file.size())).toString('utf8');
  } finally {
    await file.close();
  }
}

/** Appends all bytes, or throws `ENOSPC`. */
export async function writeFully(file: DiskFile, bytes: Uint8Array): Promise<void> {
  const taken = await file.write(bytes);
  if (taken === bytes.length) return;
  const error: NodeJS.ErrnoException = new Error(`only ${taken} of ${bytes.length} bytes could be written`);
  error.code = 'ENOSPC';
  throw error;
}

/** Writes a small file so that a crash leaves either the old or the new version. */
export async function writeAtomically(
  disk: Disk,
  folder: string,
  name: string,
  text: string,
  mode?: number,
): Promise<void> {
  const temporary = `${folder}/${name}.tmp`;
  await disk.unlink(temporary);
  const file = await disk.openAppend(temporary, mode);
  try {
    await writeFully(file, Buffer.from(text));
    await file.sync();
  } finally {
    await file.close();
  }
  await disk.rename(temporary, `${folder}/${name}`);
  await disk.syncFolder(folder);
}
