import type { Disk } from './disk.js';
import { nodeDisk } from './node-disk.js';

/** The real disk. Counts the bytes read from files that `openAppend` opened: the total, and the peak of concurrent reads. */
export function meteredDisk(): Disk & { peakBytesInFlight: number; bytesRead: number } {
  let bytesInFlight = 0;
  const disk = {
    ...nodeDisk,
    peakBytesInFlight: 0,
    bytesRead: 0,
    openAppend: async (path: string, mode?: number) => {
      const file = await nodeDisk.openAppend(path, mode);
      const read = async (into: Uint8Array, position: number) => {
        bytesInFlight += into.length;
        disk.bytesRead += into.length;
        disk.peakBytesInFlight = Math.max(disk.peakBytesInFlight, bytesInFlight);
        return file.read(into, position).finally(() => {
          bytesInFlight -= into.length;
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
