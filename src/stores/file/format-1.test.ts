import { expect, it } from 'vitest';
import { openFileStore } from './file-store.js';
import { copyOfFormat1, FORMAT_1_KEY, format1Events } from './testing/format-1.js';
import { allEvents } from './testing.js';

it('reads a log of format 1', async () => {
  const store = await openFileStore({ root: await copyOfFormat1() });
  expect(await allEvents(store, FORMAT_1_KEY)).toEqual(await format1Events());
  await store.close();
});
