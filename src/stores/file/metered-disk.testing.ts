import type { Disk } from './disk.js';
import { nodeDisk } from './node-disk.js';

/** The real disk, which reports the bytes of a log that were read: all, and the most at the same time. */
export function meteredDisk(): Disk & { mostBytes: number; allBytes: number } {
  let reading = 0;
  const disk = {
    ...nodeDisk,
    mostBytes: 0,
    allBytes: 0,
    openAppend: async (path: string, mode?: number) => {
      const file = await nodeDisk.openAppend(path, mode);
      const read = async (into: Uint8Array, position: number) => {
        reading += into.length;
        disk.allBytes += into.length;
        disk.mostBytes = Math.max(disk.mostBytes, reading);
        return file.read(into, position).finally(() => {
          reading -= into.length;
        });
      };
      return Object.assign(Object.create(file), {
        read,
        write: (bytes: Uint8Array) => file.write(bytes),
        sync: () => file.sync(),
        truncate: (size: number) => file.truncate(size),
        size: () => file.size(),
        close: () => file.close(),
      });
    },
  };
  return disk;
}
