import type { Disk, DiskFile } from './disk.js';

/** An in-memory disk, for tests that read thousands of damaged logs. It has only files; folders are part of their names. */
export function memoryDisk(files: Map<string, Buffer>): Disk {
  const opened = (path: string): DiskFile => {
    const bytes = () => files.get(path) ?? Buffer.alloc(0);
    return {
      write: async (more) => {
        files.set(path, Buffer.concat([bytes(), more]));
        return more.length;
      },
      read: async (into, position) => bytes().copy(into, 0, position),
      sync: async () => {},
      truncate: async (size) => {
        files.set(path, bytes().subarray(0, size));
      },
      size: async () => bytes().length,
      close: async () => {},
    };
  };
  const within = (folder: string) => [...files.keys()].filter((path) => path.startsWith(`${folder}/`));
  return {
    openAppend: async (path) => {
      if (!files.has(path)) files.set(path, Buffer.alloc(0));
      return opened(path);
    },
    openUpdate: async (path) => {
      if (!files.has(path)) files.set(path, Buffer.alloc(0));
      const { sync, size, close } = opened(path);
      const writeAt = async (bytes: Uint8Array, position: number): Promise<void> => {
        const before = files.get(path) as Buffer;
        const after = Buffer.alloc(Math.max(before.length, position + bytes.length));
        before.copy(after);
        after.set(bytes, position);
        files.set(path, after);
      };
      return { writeAt, sync, size, close };
    },
    openRead: async (path) => (files.has(path) ? opened(path) : null),
    sizeOf: async (path) => files.get(path)?.length ?? null,
    rename: async (from, to) => {
      files.set(to, files.get(from) as Buffer);
      files.delete(from);
    },
    unlink: async (path) => {
      files.delete(path);
    },
    removeFolder: async (folder) => {
      for (const path of within(folder)) files.delete(path);
    },
    makeFolder: async () => {},
    list: async (folder) =>
      within(folder).map((path) => path.slice(folder.length + 1).split('/')[0] as string),
    syncFolder: async () => {},
    lock: async () => ({ release: async () => {} }),
    lockOwner: async () => '',
    pause: async () => {},
  };
}
