import { expect, test } from 'vitest';
import { eventOf, kindsOf, range, swapOf, transactionOf } from '../conformance/fixture.js';
import { describeStoreConformance } from '../conformance.js';
import { ManualClock } from '../memory/manual-clock.js';
import { type Store, StoreBroken, StoreRefused, StoreUnavailable, StoreUncertain } from '../store.js';
import { openLogStore, type RecordLog } from './log-store.js';
import type { SharedRecords } from './shared-records.js';
import { openSharedStore } from './shared-store.js';

const PROJECT = { tenant_id: 'acme', project_id: 'shop' };
const START_MS = Date.UTC(2026, 0, 1);

/** A log in memory, which survives the store. */
function memoryLog(records: string[]): RecordLog & { failure: Error | null } {
  return {
    failure: null,
    read: () => records,
    async append(added) {
      if (this.failure !== null) throw this.failure;
      records.push(...added);
    },
    async replaceAll(all) {
      records.splice(0, records.length, ...all);
    },
    async close() {},
  };
}

type AddOutcome = 'pass' | 'lose reply' | 'unavailable' | 'fail';

/** Shared records in memory. `nextAddOutcome` decides how each attempt to add ends. */
function memoryRecords(
  logs: Map<string, string[]>,
): SharedRecords & { nextAddOutcome: (log: string) => AddOutcome } {
  const recordsOf = (log: string): string[] => logs.get(log) ?? [];
  return {
    nextAddOutcome: () => 'pass',
    // In pages of three, so that a reader has to read several pages.
    read: async (log, after) => recordsOf(log).slice(after, after + 3),
    async add(log, number, record) {
      const outcome = this.nextAddOutcome(log);
      if (outcome === 'unavailable') throw new StoreUnavailable('No connection.');
      if (outcome === 'fail') throw new Error('ECONNRESET');
      const records = recordsOf(log);
      const isNext = number === records.length + 1;
      if (isNext) logs.set(log, [...records, record]);
      if (outcome === 'lose reply') throw new Error('ECONNRESET');
      return isNext;
    },
    async replace(log, number, before, after) {
      const records = recordsOf(log);
      if (records[number - 1] !== before) return false;
      records[number - 1] = after;
      return true;
    },
    async close() {},
  };
}

describeStoreConformance('log helper', {
  hasControlledClock: true,
  open: async () => {
    const records: string[] = [];
    const clock = new ManualClock(START_MS);
    const open = () => openLogStore(memoryLog(records), { name: 'log', clock });
    return { store: await open(), clock, reopen: open };
  },
});

describeStoreConformance('shared helper', {
  hasControlledClock: true,
  open: async () => {
    const logs = new Map<string, string[]>();
    const clock = new ManualClock(START_MS);
    const open = () => openSharedStore(memoryRecords(logs), { name: 'shared', clock });
    return { store: await open(), clock, reopen: open };
  },
});

const swap = (subject: string, expectedSeq = 0) =>
  transactionOf(PROJECT, { swaps: [swapOf(PROJECT, subject, expectedSeq)] });

const eventIds = async (store: Store): Promise<string[]> =>
  (await store.events(PROJECT, { after: 0, limit: 1000 })).map((event) => event.event_id);

test('a log store stops after a failed write, and continues with what the log has when it is reopened', async () => {
  const records: string[] = [];
  const log = memoryLog(records);
  const store = await openLogStore(log, { name: 'log' });
  await store.commit([swap('~a')]);
  const writable = await store.openLog(PROJECT);
  log.failure = new Error('ENOSPC');
  await expect(store.commit([swap('~a', 1)])).rejects.toBeInstanceOf(StoreBroken);
  expect(await store.broken).toBeInstanceOf(StoreBroken);
  log.failure = null;
  expect(() => writable.apply(swap('~b'), writable.now())).toThrow(StoreBroken);
  await expect(store.commit([swap('~b')])).rejects.toBeInstanceOf(StoreBroken);
  await expect(store.heads(PROJECT, ['~a'])).rejects.toBeInstanceOf(StoreBroken);
  const reopened = await openLogStore(memoryLog(records), { name: 'log' });
  expect(await reopened.heads(PROJECT, ['~a', '~b'])).toMatchObject([{ seq: 1 }, null]);
});

test('a log with a record that was changed is refused, and its storage is closed', async () => {
  let isClosed = false;
  const log: RecordLog = memoryLog(['{"kind":"transaction"}']);
  log.close = async () => {
    isClosed = true;
  };
  await expect(openLogStore(log, { name: 'log' })).rejects.toBeInstanceOf(StoreRefused);
  expect(isClosed).toBe(true);
});

test('two coordinators on shared records see one order, and one of two equal swaps is committed', async () => {
  const logs = new Map<string, string[]>();
  const open = () => openSharedStore(memoryRecords(logs), { name: 'shared' });
  const [a, b] = [await open(), await open()];
  expect(await a.meta()).toEqual(await b.meta());
  const contested = await Promise.all(
    range(1, 20).flatMap((n) => [a, b].map((store) => store.commit([swap(`~s${n}`)]))),
  );
  expect(kindsOf(contested.flat()).filter((kind) => kind === 'committed')).toHaveLength(20);
  expect(await eventIds(a)).toEqual(await eventIds(b));
  expect(await eventIds(a)).toHaveLength(20);
});

test('a shared store that is closed refuses every call', async () => {
  const store = await openSharedStore(memoryRecords(new Map()), { name: 'shared' });
  await store.close();
  const calls: Record<string, () => Promise<unknown>> = {
    commit: () => store.commit([swap('~a')]),
    heads: () => store.heads(PROJECT, ['~a']),
    tenantIds: () => store.tenantIds(),
    now: () => store.now(),
    meta: () => store.meta(),
    raiseIncarnation: () => store.raiseIncarnation(2),
  };
  for (const [name, call] of Object.entries(calls))
    await expect(call(), name).rejects.toBeInstanceOf(StoreBroken);
});

test('a coordinator refuses a transaction only after it has read everything that others have committed', async () => {
  const logs = new Map<string, string[]>();
  const open = () => openSharedStore(memoryRecords(logs), { name: 'shared' });
  const [a, b] = [await open(), await open()];
  await a.commit([swap('~a')]);
  await b.commit([swap('~a', 1)]);
  expect(kindsOf(await a.commit([swap('~a', 2)]))).toEqual(['committed']);
});

test('a permit that one coordinator has taken is not free for another', async () => {
  const logs = new Map<string, string[]>();
  const open = () => openSharedStore(memoryRecords(logs), { name: 'shared' });
  const takePermit = (member: string) =>
    transactionOf(PROJECT, {
      permits: [{ scope: 'work', member, until_ms: Number.POSITIVE_INFINITY }],
      permit_limits: [{ scope: 'work', max: 1 }],
    });
  const [a, b] = [await open(), await open()];
  expect(kindsOf(await a.commit([takePermit('m1')]))).toEqual(['committed']);
  expect(kindsOf(await b.commit([takePermit('m2')]))).toEqual(['full']);
});

test('a commit whose reply is lost takes effect once', async () => {
  const logs = new Map<string, string[]>();
  const records = memoryRecords(logs);
  const store = await openSharedStore(records, { name: 'shared' });
  const outcomes: AddOutcome[] = ['lose reply', 'fail', 'pass'];
  records.nextAddOutcome = () => outcomes.shift() ?? 'pass';
  expect(kindsOf(await store.commit([swap('~a')]))).toEqual(['committed']);
  expect(await eventIds(store)).toHaveLength(1);
});

test('a commit is unavailable only if nothing happened, and uncertain otherwise', async () => {
  const records = memoryRecords(new Map());
  const store = await openSharedStore(records, { name: 'shared' });
  records.nextAddOutcome = () => 'unavailable';
  await expect(store.commit([swap('~a')])).rejects.toBeInstanceOf(StoreUnavailable);
  records.nextAddOutcome = () => 'fail';
  await expect(store.commit([swap('~a')])).rejects.toBeInstanceOf(StoreUncertain);
  const outcomes: AddOutcome[] = ['pass', 'unavailable'];
  records.nextAddOutcome = () => outcomes.shift() ?? 'pass';
  await expect(store.commit([swap('~a'), swap('~b')])).rejects.toBeInstanceOf(StoreUncertain);
});

test('what one coordinator redacts is gone from the records and from the memory of the others', async () => {
  const logs = new Map<string, string[]>();
  const open = () => openSharedStore(memoryRecords(logs), { name: 'shared' });
  const [a, b] = [await open(), await open()];
  const secret = eventOf(PROJECT, { payload: { kept: 1, note: 'private' } });
  await a.commit([transactionOf(PROJECT, { loose_events: [secret] })]);
  const [event] = await b.events(PROJECT, { after: 0, limit: 1 });
  if (event === undefined) throw new Error('The event is missing.');
  await a.redact(PROJECT, [{ ...event, payload: { kept: 1 } }]);
  for (const store of [a, b, await open()])
    expect((await store.events(PROJECT, { after: 0, limit: 1 }))[0]?.payload).toEqual({ kept: 1 });
  expect(JSON.stringify([...logs.values()])).not.toContain('private');
});

test('what is redacted between two pages of a read is gone from the memory of the reader', async () => {
  const logs = new Map<string, string[]>();
  const [a, records] = [await openSharedStore(memoryRecords(logs), { name: 'shared' }), memoryRecords(logs)];
  for (const [index, subject] of ['~a', '~b', '~c', '~d'].entries()) {
    const payload = index === 0 ? { kept: 1, note: 'private' } : { kept: 1 };
    await a.commit([transactionOf(PROJECT, { loose_events: [eventOf(PROJECT, { subject, payload })] })]);
  }
  const [event] = await a.events(PROJECT, { after: 0, limit: 1 });
  if (event === undefined) throw new Error('The event is missing.');
  const { read } = records;
  records.read = async (log, after) => {
    // The first page is read already when this one is asked for.
    if (after === 3) await a.redact(PROJECT, [{ ...event, payload: { kept: 1 } }]);
    return read(log, after);
  };
  const b = await openSharedStore(records, { name: 'shared' });
  expect((await b.events(PROJECT, { after: 0, limit: 1 }))[0]?.payload).toEqual({ kept: 1 });
});
