import { fstatSync, writeSync } from 'node:fs';
import {
  constants,
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Disk, type DiskFile, isErrorCode, type UpdatableFile, unlessMissing } from './disk.js';
import { MainThreadWrites } from './main-thread-writes.js';

interface NativeLocks {
  tryLock(fd: number): boolean;
  unlock(fd: number): void;
}

// The package has no types, and is loaded only when a lock is requested.
const nativeLocks = (): NativeLocks => createRequire(import.meta.url)('fs-native-extensions') as NativeLocks;

/** The folders hold results and notes, which only the owner may read. */
const OWNER_ONLY = 0o700;

const OPEN_TRIES_MAX = 100;
const OPEN_PAUSE_MS = 100;
const WRITE_PAUSE_MS = 5;

/** Waits up to ten seconds for a free descriptor: connections that close free some, and nothing is written yet. */
async function openWhenFree(path: string, flags: string | number, mode?: number): Promise<FileHandle> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await open(path, flags, mode);
    } catch (error) {
      const isExhausted = isErrorCode(error, 'EMFILE') || isErrorCode(error, 'ENFILE');
      if (!isExhausted || tries === OPEN_TRIES_MAX) throw error;
      await pause(OPEN_PAUSE_MS);
    }
  }
}

/** The disk of this machine. */
export const nodeDisk: Disk = {
  openAppend: async (path, mode) => nodeFile(await openWhenFree(path, 'a+', mode)),
  openRead: (path) => unlessMissing(openWhenFree(path, 'r').then(nodeFile), null),
  sizeOf: (path) =>
    unlessMissing(
      stat(path).then(({ size }) => size),
      null,
    ),
  openUpdate: async (path) => updatableFile(await openWhenFree(path, constants.O_RDWR | constants.O_CREAT)),
  rename: (from, to) => rename(from, to),
  unlink: (path) => rm(path, { force: true }),
  removeFolder: (path) => rm(path, { force: true, recursive: true }),

  async makeFolder(path) {
    const firstCreated = await mkdir(path, { recursive: true, mode: OWNER_ONLY });
    if (firstCreated === undefined) return;
    // A new folder is an entry in its parent, so each parent must be durable too.
    const parentOfFirst = dirname(resolve(firstCreated));
    for (let folder = dirname(resolve(path)); ; folder = dirname(folder)) {
      await nodeDisk.syncFolder(folder);
      if (folder === parentOfFirst) return;
    }
  },

  list: (path) => unlessMissing(readdir(path), []),

  async syncFolder(path) {
    // Windows cannot open a folder; its file systems journal names themselves.
    if (process.platform === 'win32') return;
    const folder = await openWhenFree(path, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  },

  async lock(path) {
    const file = await open(path, 'a+');
    try {
      if (!nativeLocks().tryLock(file.fd)) {
        await file.close();
        return null;
      }
      await file.truncate(0);
      await file.write(`${process.pid}\n`);
      // The lock belongs to the open file: the operating system releases it when the file is closed or the process ends.
      return { release: () => file.close() };
    } catch (error) {
      await file.close();
      throw error;
    }
  },

  lockOwner: (path) =>
    readFile(path, 'utf8').then(
      (text) => text.trim(),
      () => '',
    ),

  pause: () => pause(WRITE_PAUSE_MS),
};

const mainThreadWrites = new MainThreadWrites(() => performance.now());

const nodeFile = (file: FileHandle): DiskFile => ({
  write: async (bytes) =>
    mainThreadWrites.isOnMainThread(bytes.length)
      ? mainThreadWrites.run(() => writeSync(file.fd, bytes, 0, bytes.length, null))
      : (await file.write(bytes, 0, bytes.length, null)).bytesWritten,
  read: async (into, position) => (await file.read(into, 0, into.length, position)).bytesRead,
  sync: () => file.datasync(),
  truncate: (size) => file.truncate(size),
  // The system has the size in memory, so passing the call to a thread would take far longer.
  size: async () => fstatSync(file.fd).size,
  close: () => file.close(),
});

function updatableFile(file: FileHandle): UpdatableFile {
  const { sync, size, close } = nodeFile(file);
  const writeAt = async (bytes: Uint8Array, position: number): Promise<void> => {
    for (let written = 0; written < bytes.length; ) {
      const remainingBytes = bytes.length - written;
      written += (await file.write(bytes, written, remainingBytes, position + written)).bytesWritten;
    }
  };
  return { writeAt, sync, size, close };
}
