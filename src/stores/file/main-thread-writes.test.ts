import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { MainThreadWrites } from './main-thread-writes.js';
import { nodeDisk } from './node-disk.js';

it('leaves large writes to threads, and every write for a second after a slow one', () => {
  let nowMs = 0;
  const writes = new MainThreadWrites(() => nowMs);
  const writeFor = (durationMs: number) =>
    writes.run(() => {
      nowMs += durationMs;
      return 'written';
    });
  expect(writes.isOnMainThread(65_536)).toBe(true);
  expect(writes.isOnMainThread(65_537)).toBe(false);
  expect(writeFor(20)).toBe('written');
  expect(writes.isOnMainThread(1)).toBe(true);
  writeFor(21);
  expect(writes.isOnMainThread(1)).toBe(false);
  nowMs += 999;
  expect(writes.isOnMainThread(1)).toBe(false);
  nowMs += 1;
  expect(writes.isOnMainThread(1)).toBe(true);
});

it('notices a slow write that fails', () => {
  let nowMs = 0;
  const writes = new MainThreadWrites(() => nowMs);
  const fail = () => {
    nowMs += 100;
    throw new Error('no space');
  };
  expect(() => writes.run(fail)).toThrow('no space');
  expect(writes.isOnMainThread(1)).toBe(false);
});

it('appends small and large writes in the order of the calls', async () => {
  const path = `${await temporaryFolder()}/file`;
  const file = await nodeDisk.openAppend(path);
  for (const [letter, size] of [
    ['a', 10],
    ['b', 100_000],
    ['c', 10],
  ] as const) {
    expect(await file.write(Buffer.alloc(size, letter))).toBe(size);
  }
  await file.close();
  // Its descriptor may belong to another file by now.
  await expect(file.write(Buffer.from('x'))).rejects.toThrow();
  expect(await readFile(path, 'utf8')).toBe(`${'a'.repeat(10)}${'b'.repeat(100_000)}${'c'.repeat(10)}`);
});
