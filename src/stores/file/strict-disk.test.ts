import { expect, it } from 'vitest';
import { StoreBroken } from '../store.js';
import { memoryDisk } from './memory-disk.testing.js';
import { strictDisk } from './strict-disk.js';

/** A file whose syncs end as the test says, in any order. */
async function openFile() {
  const disk = memoryDisk(new Map());
  const syncs: { resolve(): void; reject(error: Error): void }[] = [];
  const file = await strictDisk({
    ...disk,
    openAppend: async (path, mode) => ({
      ...(await disk.openAppend(path, mode)),
      sync: () => new Promise((resolve, reject) => syncs.push({ resolve, reject })),
    }),
  }).openAppend('p/log');
  return { file, syncs };
}

// The operating system reports a write that it dropped only once, to the next sync.
it('accepts no sync that ends after another one has failed, and starts no other', async () => {
  const { file, syncs } = await openFile();
  const first = file.sync();
  const second = file.sync();
  syncs[1]?.reject(new Error('EIO'));
  await expect(second).rejects.toThrow(StoreBroken);
  syncs[0]?.resolve();
  await expect(first).rejects.toThrow(StoreBroken);
  await expect(file.truncate(0)).rejects.toThrow(StoreBroken);
  await expect(file.sync()).rejects.toThrow(StoreBroken);
  expect(syncs).toHaveLength(2);
});

it('accepts a sync that ended before another one failed', async () => {
  const { file, syncs } = await openFile();
  const first = file.sync();
  const second = file.sync();
  syncs[0]?.resolve();
  await expect(first).resolves.toBeUndefined();
  syncs[1]?.reject(new Error('EIO'));
  await expect(second).rejects.toThrow('could not be made durable (EIO)');
});
