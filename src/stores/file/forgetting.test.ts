import { readFile, writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { StoreBroken } from '../store.js';
import { openFileStore } from './file-store.js';
import {
  allEvents,
  commitOne,
  diskError,
  type Faults,
  faultyDisk,
  freshFolder,
  KEY,
  remark,
} from './testing.js';

const SAID = { kept: 1, said: 'something long enough to be missed' };
const LESS = { kept: 1 };

const less = (event: EventEnvelope | undefined): EventEnvelope => {
  if (event === undefined) throw new Error('the event is not there');
  return { ...event, payload: LESS };
};

it('leaves the old file or the new one, wherever it is cut short, and can be done again', async () => {
  const steps = ['write', 'sync'] as const;
  for (const step of steps) {
    const root = await freshFolder();
    const faults: Faults = {};
    const store = await openFileStore({ root, disk: faultyDisk(faults) });
    for (const id of ['a', 'b', 'c']) await commitOne(store, remark(id, SAID));
    const [, second] = await allEvents(store);
    const isCopy = (path: string) => path.endsWith('.tmp');
    const cut = () => Promise.reject(diskError('EIO'));
    if (step === 'write') faults.write = (path, bytes, write) => (isCopy(path) ? cut() : write(bytes));
    else faults.sync = (path, sync) => (isCopy(path) ? cut() : sync());
    await expect(store.forget(KEY, [less(second)])).rejects.toThrow();
    delete faults.write;
    delete faults.sync;
    expect((await allEvents(store)).map(({ payload }) => payload)).toEqual([SAID, SAID, SAID]);
    await commitOne(store, remark('d', SAID));
    await store.close();
    const again = await openFileStore({ root });
    await again.forget(KEY, [less(second)]);
    expect((await allEvents(again)).map(({ payload }) => payload)).toEqual([SAID, LESS, SAID, SAID]);
    await again.close();
  }
});

it('takes the bytes off the disk, and no line moves', async () => {
  const root = await freshFolder();
  const store = await openFileStore({ root });
  await commitOne(store, remark('a', SAID));
  await commitOne(store, remark('b', { n: 2 }));
  const before = await readFile(`${root}/t/p/events.jsonl`);
  await store.forget(KEY, [less((await allEvents(store))[0])]);
  await store.close();
  const after = await readFile(`${root}/t/p/segments/000000000001.jsonl`);
  expect(after).toHaveLength(before.length);
  expect(after.includes('long enough')).toBe(false);
  expect(after.subarray(after.indexOf('\n'))).toEqual(before.subarray(before.indexOf('\n')));
});

it('refuses a line whose rest is no longer JSON', async () => {
  const root = await freshFolder();
  const store = await openFileStore({ root });
  await commitOne(store, remark('a', SAID));
  await store.forget(KEY, [less((await allEvents(store))[0])]);
  await store.close();
  const path = `${root}/t/p/segments/000000000001.jsonl`;
  const text = await readFile(path, 'utf8');
  await writeFile(path, text.replace('"payload":{"kept":1}', '"payload":{"kept":1]'));
  const again = await openFileStore({ root });
  await expect(allEvents(again)).rejects.toBeInstanceOf(StoreBroken);
  await again.close();
});
