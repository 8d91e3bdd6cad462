import { stat } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { eventOf, transactionOf } from '../conformance/fixture.js';
import { BLOCK_BYTES } from './block-writer.js';
import { openFileStore } from './file-store.js';
import { meteredDisk } from './metered-disk.testing.js';
import { SEAL_BYTES_MAX } from './seal.js';
import { activeFile, commitOne, KEY, looseEventTransaction } from './testing.js';

const EVENTS = 100;
const PAYLOAD_CHARS = 64 * 1024;

it.each([
  ['a filter that matches nothing', { agent_id: 'nobody' }, 0],
  ['no filter', {}, EVENTS],
])('reads large events in parts of about a megabyte, with %s', async (_, filter, count) => {
  const disk = meteredDisk();
  const store = await openFileStore({ root: await temporaryFolder(), disk });
  for (let at = 0; at < EVENTS; at += 1)
    await commitOne(store, looseEventTransaction(`e-${at}`, { text: 'x'.repeat(PAYLOAD_CHARS) }));
  disk.peakBytesInFlight = 0;
  const events = await store.events(KEY, { ...filter, after: 0, limit: 1000 });
  expect(events).toHaveLength(count);
  expect(disk.peakBytesInFlight).toBeGreaterThan(PAYLOAD_CHARS);
  expect(disk.peakBytesInFlight).toBeLessThan(1.2 * 1024 * 1024);
  await store.close();
});

it('reads and verifies each block once, even if its events are returned in several pages', async () => {
  const disk = meteredDisk();
  const root = await temporaryFolder();
  const store = await openFileStore({ root, disk });
  const count = 2500;
  await store.commit(Array.from({ length: count }, (_, at) => looseEventTransaction(`e-${at}`)));
  const { size } = await stat(activeFile(root));
  disk.bytesRead = 0;
  expect(await store.events(KEY, { after: 0, limit: count })).toHaveLength(count);
  expect(disk.bytesRead).toBeGreaterThanOrEqual(size);
  expect(disk.bytesRead).toBeLessThan(size + 10 * SEAL_BYTES_MAX);
  disk.bytesRead = 0;
  expect(await store.events(KEY, { after: 1200, limit: 1 })).toMatchObject([{ event_id: 'e-1200' }]);
  expect(disk.bytesRead).toBeLessThan(BLOCK_BYTES + 2000);
  await store.close();
});

it('reads a block of many megabytes once, even if every page is a call of its own', async () => {
  const disk = meteredDisk();
  const root = await temporaryFolder();
  const store = await openFileStore({ root, disk });
  const payload = { text: 'x'.repeat(PAYLOAD_CHARS) };
  const loose_events = Array.from({ length: EVENTS }, (_, at) =>
    eventOf(KEY, { event_id: `e-${at}`, payload }),
  );
  await commitOne(store, transactionOf(KEY, { loose_events }));
  disk.bytesRead = 0;
  for (let after = 0; after < EVENTS; after += 10)
    expect(await store.events(KEY, { after, limit: 10 })).toHaveLength(10);
  expect(disk.bytesRead).toBeLessThan(1.1 * EVENTS * PAYLOAD_CHARS);
  await store.close();
});
