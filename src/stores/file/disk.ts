/**
 * The only way the file store touches a disk, so that a simulator can run this very code on a simulated one.
 * Every member may reject with an error that carries a `code` as Node's do (`ENOSPC`, `EIO`, `ENOENT` …).
 */
export interface Disk {
  /** Opens for reading and appending; makes the file when there is none. `mode` holds for a new file. */
  openAppend(path: string, mode?: number): Promise<DiskFile>;

  /** Opens for reading only; null when there is no such file. */
  openRead(path: string): Promise<DiskFile | null>;

  /** Replaces what is at `to`. Durable once both folders are synced. */
  rename(from: string, to: string): Promise<void>;

  /** Removes a file. Quiet when there is none. */
  unlink(path: string): Promise<void>;

  /** Removes a folder with all that is in it. Quiet when there is none. */
  removeFolder(path: string): Promise<void>;

  /** Makes a folder and those above it, durable when it resolves. Quiet when it is there, durable or not. */
  makeFolder(path: string): Promise<void>;

  /** The names in a folder, in no order; empty when there is no such folder. */
  list(path: string): Promise<string[]>;

  /** Makes the names in a folder durable: files made, renamed or removed. */
  syncFolder(path: string): Promise<void>;

  /** Takes the lock; null when somebody alive has it. A dead owner's lock is free at once, a frozen one's is not. */
  lock(path: string): Promise<Lock | null>;

  /** What the owner of a lock wrote about itself; empty when unknown. */
  lockOwner(path: string): Promise<string>;
}

export interface DiskFile {
  /** Appends, and returns how many bytes were taken: fewer than given when the disk is full. */
  write(bytes: Uint8Array): Promise<number>;

  /** Fills `into` from `position` on, and returns how many bytes there were. */
  read(into: Uint8Array, position: number): Promise<number>;

  /** Makes the contents durable. After a failure nothing is known of what was written since the last success. */
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

/** Reads exactly `length` bytes; shorter only where the file ends. */
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

/** A small file whole; null when there is none. */
export async function readSmallFile(disk: Disk, path: string): Promise<string | null> {
  const file = await disk.openRead(path);
  if (file === null) return null;
  try {
    return (await readFully(file, 0, await file.size())).toString('utf8');
  } finally {
    await file.close();
  }
}

/** Appends all of it, or throws as a full disk would. */
export async function writeFully(file: DiskFile, bytes: Uint8Array): Promise<void> {
  const taken = await file.write(bytes);
  if (taken === bytes.length) return;
  const error: NodeJS.ErrnoException = new Error(`only ${taken} of ${bytes.length} bytes could be written`);
  error.code = 'ENOSPC';
  throw error;
}

/** Writes a small file so that a crash leaves the old one or the new one, never something between. */
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
