import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { REDACTION_EVENT } from '../../core/events/known-event-types.js';
import { HISTORY_SUBJECT } from '../../core/subject.js';
import { eventOf, transactionOf } from '../conformance/fixture.js';
import { LogDamaged, type Store } from '../store.js';
import { openFileStore } from './file-store.js';
import { summaryPath } from './layout.js';
import { digestRemaining } from './redacted-lines.js';
import {
  allEvents,
  commitOne,
  diskError,
  faultyDisk,
  type InjectedDiskFaults,
  KEY,
  looseEventTransaction,
  projectLogFolder,
} from './testing.js';

const FULL_PAYLOAD = { kept: 1, said: 'something long enough to be missed' };
const REDUCED_PAYLOAD = { kept: 1 };

const reduced = (event: EventEnvelope | undefined): EventEnvelope => {
  if (event === undefined) throw new Error('The event is missing.');
  return { ...event, payload: REDUCED_PAYLOAD };
};

/** As retention does it: first commits an event with the digest of the remaining payload, then redacts. */
async function redact(store: Store, event: EventEnvelope): Promise<void> {
  const { position, payload } = event;
  const events = [{ position, payload_sha256: digestRemaining(payload) }];
  const redaction = { event_id: `redaction-${position}`, event_type: REDACTION_EVENT, payload: { events } };
  await commitOne(
    store,
    transactionOf(KEY, { loose_events: [eventOf(KEY, { ...redaction, subject: HISTORY_SUBJECT })] }),
  );
  await store.redact(KEY, [event]);
}

it('leaves the file unchanged when a write or a sync fails, and can be repeated', async () => {
  const steps = ['write', 'sync'] as const;
  for (const step of steps) {
    const root = await temporaryFolder();
    const faults: InjectedDiskFaults = {};
    const store = await openFileStore({ root, disk: faultyDisk(faults) });
    for (const id of ['a', 'b', 'c']) await commitOne(store, looseEventTransaction(id, FULL_PAYLOAD));
    const [, second] = await allEvents(store);
    const isCopy = (path: string) => path.endsWith('.tmp');
    const failDisk = () => Promise.reject(diskError('EIO'));
    if (step === 'write') faults.write = (path, bytes, write) => (isCopy(path) ? failDisk() : write(bytes));
    else faults.sync = (path, sync) => (isCopy(path) ? failDisk() : sync());
    await expect(redact(store, reduced(second))).rejects.toThrow('injected disk fault');
    delete faults.write;
    delete faults.sync;
    expect((await allEvents(store)).slice(0, 3).map(({ payload }) => payload)).toEqual([
      FULL_PAYLOAD,
      FULL_PAYLOAD,
      FULL_PAYLOAD,
    ]);
    await commitOne(store, looseEventTransaction('d', FULL_PAYLOAD));
    await store.close();
    const reopened = await openFileStore({ root });
    await reopened.redact(KEY, [reduced(second)]);
    const [first, shortened, third] = (await allEvents(reopened)).map(({ payload }) => payload);
    expect([first, shortened, third]).toEqual([FULL_PAYLOAD, REDUCED_PAYLOAD, FULL_PAYLOAD]);
    await reopened.close();
  }
});

it('removes the bytes from the disk without moving a line', async () => {
  const root = await temporaryFolder();
  const store = await openFileStore({ root });
  await commitOne(store, looseEventTransaction('a', FULL_PAYLOAD));
  await commitOne(store, looseEventTransaction('b', { n: 2 }));
  const before = await readFile(`${root}/t/p/events.jsonl`);
  await redact(store, reduced((await allEvents(store))[0]));
  await store.close();
  const after = await readFile(`${root}/t/p/segments/000000000001.jsonl`);
  expect(after.indexOf('\n')).toBe(before.indexOf('\n'));
  expect(after.includes('long enough')).toBe(false);
  expect(after.subarray(after.indexOf('\n'), before.length)).toEqual(before.subarray(before.indexOf('\n')));
});

it('refuses a redacted line whose payload is not valid JSON', async () => {
  const root = await temporaryFolder();
  const store = await openFileStore({ root });
  await commitOne(store, looseEventTransaction('a', FULL_PAYLOAD));
  await redact(store, reduced((await allEvents(store))[0]));
  await store.close();
  const path = `${root}/t/p/segments/000000000001.jsonl`;
  const text = await readFile(path, 'utf8');
  await writeFile(path, text.replace('"payload":{"kept":1}', '"payload":{"kept":1]'));
  const reopened = await openFileStore({ root });
  await expect(allEvents(reopened)).rejects.toBeInstanceOf(LogDamaged);
  await reopened.close();
});

it('redacts no event without a redaction event in the log, since its line would count as damage', async () => {
  const root = await temporaryFolder();
  const store = await openFileStore({ root });
  await commitOne(store, looseEventTransaction('a', FULL_PAYLOAD));
  const [event] = await allEvents(store);
  await expect(store.redact(KEY, [reduced(event)])).rejects.toThrow('No event of the log records');
  expect(await allEvents(store)).toEqual([event]);
  await store.close();
});

it('reads redacted events, also those before a snapshot', async () => {
  const root = await temporaryFolder();
  let store = await openFileStore({ root, segment_bytes_max: 2048 });
  for (let count = 0; count < 30; count += 1)
    await commitOne(store, looseEventTransaction(`n${count}`, FULL_PAYLOAD));
  const events = await allEvents(store);
  for (const event of events.slice(0, 20)) await redact(store, reduced(event));
  await store.close();
  store = await openFileStore({ root });
  const payloads = (await allEvents(store)).slice(0, 30).map(({ payload }) => payload);
  expect(payloads).toEqual([...Array(20).fill(REDUCED_PAYLOAD), ...Array(10).fill(FULL_PAYLOAD)]);
  await store.close();
});

it('shows a redaction in a block of many megabytes that was read before', async () => {
  const store = await openFileStore({ root: await temporaryFolder() });
  const payload = { ...FULL_PAYLOAD, text: 'x'.repeat(1024 * 1024) };
  const loose_events = ['a', 'b'].map((event_id) => eventOf(KEY, { event_id, payload }));
  await commitOne(store, transactionOf(KEY, { loose_events }));
  const [first] = await allEvents(store);
  await redact(store, reduced(first));
  expect((await allEvents(store)).slice(0, 2).map((event) => event.payload)).toEqual([
    REDUCED_PAYLOAD,
    payload,
  ]);
  await store.close();
});

it('removes the summary that a reader kept of the log', async () => {
  const root = await temporaryFolder();
  const store = await openFileStore({ root });
  await commitOne(store, looseEventTransaction('a', FULL_PAYLOAD));
  const [first] = await allEvents(store);
  const summary = summaryPath(projectLogFolder(root));
  await mkdir(dirname(summary), { recursive: true });
  await writeFile(summary, 'with the original text');
  await redact(store, reduced(first));
  await expect(readFile(summary)).rejects.toThrow('ENOENT');
  await store.close();
});
