import { expect, it } from 'vitest';
import type { Disk } from './disk.js';
import { openFileStore } from './file-store.js';
import { nodeDisk } from './node-disk.js';
import { commitOne, KEY, looseEventTransaction, temporaryFolder } from './testing.js';

const EVENTS = 100;
const PAYLOAD_CHARS = 64 * 1024;

/** The real disk, which reports the largest number of bytes of a log that were read at the same time. */
function meteredDisk(): Disk & { mostBytes: number } {
  let reading = 0;
  const disk = {
    ...nodeDisk,
    mostBytes: 0,
    openAppend: async (path: string, mode?: number) => {
      const file = await nodeDisk.openAppend(path, mode);
      const read = async (into: Uint8Array, position: number) => {
        reading += into.length;
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

it.each([
  ['a filter that matches nothing', { agent_id: 'nobody' }, 0],
  ['no filter', {}, EVENTS],
])('reads large events in parts of about a megabyte, with %s', async (_, filter, count) => {
  const disk = meteredDisk();
  const store = await openFileStore({ root: await temporaryFolder(), disk });
  for (let at = 0; at < EVENTS; at += 1)
    await commitOne(store, looseEventTransaction(`e-${at}`, { text: 'x'.repeat(PAYLOAD_CHARS) }));
  disk.mostBytes = 0;
  const events = await store.events(KEY, { ...filter, after: 0, limit: 1000 });
  expect(events).toHaveLength(count);
  expect(disk.mostBytes).toBeGreaterThan(PAYLOAD_CHARS);
  expect(disk.mostBytes).toBeLessThan(1.2 * 1024 * 1024);
  await store.close();
});
