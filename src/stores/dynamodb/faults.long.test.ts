import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { kindsOf, range, swapOf, transactionOf } from '../conformance/fixture.js';
import { ManualClock } from '../memory/manual-clock.js';
import {
  type CommitOutcome,
  type ProjectKey,
  type Store,
  StoreUnavailable,
  StoreUncertain,
} from '../store.js';
import type { TestDatabase } from '../testing/database.js';
import { onDatabase, onOwnDatabase } from '../testing/on-database.js';
import { startMigrated } from '../testing/shared-database.js';
import { DynamoClient } from './connection.js';
import { META_KEY } from './keys.js';
import { createHarness, type DynamodbHarness } from './testing/harness.js';
import { type CallFate, firstCalls, type ProxiedCall } from './testing/proxy.js';

const newProjectKey = (): ProjectKey => ({ tenant_id: `t-${randomUUID()}`, project_id: 'p' });
const claim = (projectKey: ProjectKey, subject: string, requestKey = subject) =>
  transactionOf(projectKey, {
    swaps: [swapOf(projectKey, subject, 0)],
    requests: [{ key: requestKey, digest: 'd', keep: true }],
    permits: [{ scope: 'claims', member: subject, until_ms: Number.POSITIVE_INFINITY }],
    permit_limits: [{ scope: 'claims', max: 100 }],
  });

const THROTTLED: CallFate = { error: 'ProvisionedThroughputExceededException' };
const FATES: [string, CallFate][] = [
  ['is throttled', THROTTLED],
  [
    'conflicts with another',
    { error: 'TransactionCanceledException', reasons: ['None', 'TransactionConflict'] },
  ],
  ['is throttled in part', { error: 'TransactionCanceledException', reasons: ['ThrottlingError', 'None'] }],
  ['is already in progress', { error: 'TransactionInProgressException' }],
  ['fails with a server error', { error: 'InternalServerError' }],
  ['loses its reply', 'lose_reply'],
];

await onDatabase(
  'dynamodb',
  () => startMigrated('dynamodb'),
  (database) => {
    afterAll(() => database.stop());
    const setup = createHarness(database.url);
    describe('a dynamodb store with database faults', () => describeFaults(setup));
    onOwnDatabase('dynamodb', database, (ownDatabase) =>
      describe('a dynamodb store whose database is killed', () => describeDeath(setup, ownDatabase)),
    );
  },
);

function describeFaults({ options, store: open, proxy: openProxy }: DynamodbHarness): void {
  it.each(FATES)('commits once when a transaction %s', async (_, fate) => {
    const proxy = await openProxy();
    const store = await open(proxy.options);
    const projectKey = newProjectKey();
    await store.commit([claim(projectKey, '~first')]);
    proxy.fate = firstCalls(3, 'TransactWriteItems', fate);
    const outcomes = await store.commit([claim(projectKey, '~a'), claim(projectKey, '~b')]);
    expect(outcomes).toMatchObject([
      { kind: 'committed', positions: [2] },
      { kind: 'committed', positions: [3] },
    ]);
    await expectSound(store, projectKey, 3);
  });

  it.each(FATES)('repeats a read, and returns its result, when a read request %s', async (_, fate) => {
    const proxy = await openProxy();
    const store = await open(proxy.options);
    const projectKey = newProjectKey();
    await store.commit([claim(projectKey, '~a')]);
    for (const operation of ['Query', 'BatchGetItem', 'GetItem']) {
      if (typeof fate === 'object' && 'reasons' in fate) continue;
      proxy.fate = firstCalls(2, operation, fate);
      expect(await store.events(projectKey, { after: 0, limit: 9, subject: '~a' })).toHaveLength(1);
      expect(await store.heads(projectKey, ['~a'])).toMatchObject([{ seq: 1 }]);
    }
  });

  it('recognizes its own transaction after the client token has expired', async () => {
    const proxy = await openProxy();
    const store = await open(proxy.options);
    const projectKey = newProjectKey();
    let sent = 0;
    proxy.fate = ({ operation, body }) => {
      if (operation !== 'TransactWriteItems') return 'pass';
      delete body.ClientRequestToken;
      sent += 1;
      return sent === 1 ? 'lose_reply' : 'pass';
    };
    const [outcome] = await store.commit([
      transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 0)] }),
    ]);
    expect(outcome).toMatchObject({ kind: 'committed', positions: [1] });
    expect(sent).toBe(2);
    await expectSound(store, projectKey, 1);
  });

  it('voids a transaction that is unconfirmed at not_after_ms, and reports it as late', async () => {
    const clock = new ManualClock(Date.now());
    const proxy = await openProxy();
    const store = await open(proxy.options, clock);
    const projectKey = newProjectKey();
    await store.commit([claim(projectKey, '~first')]);
    const cut = firstCalls(1, 'TransactWriteItems', 'cut');
    proxy.fate = (call) => {
      const fate = cut(call);
      if (fate === 'cut') clock.advance(5000);
      return fate;
    };
    const not_after_ms = (await store.now()) + 1000;
    const outcomes = await store.commit([
      transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 0)], not_after_ms }),
      transactionOf(projectKey, { swaps: [swapOf(projectKey, '~b', 0)] }),
    ]);
    expect(outcomes).toMatchObject([{ kind: 'late' }, { kind: 'committed', positions: [2] }]);
    await expectSound(store, projectKey, 2);
  });

  it('does not send a throttled transaction again after not_after_ms, and reports it as late', async () => {
    const clock = new ManualClock(Date.now());
    const proxy = await openProxy();
    const store = await open(proxy.options, clock);
    const projectKey = newProjectKey();
    await store.commit([claim(projectKey, '~first')]);
    const throttle = firstCalls(1, 'TransactWriteItems', THROTTLED);
    proxy.fate = (call) => {
      const fate = throttle(call);
      if (fate === THROTTLED) clock.advance(5000);
      return fate;
    };
    const not_after_ms = (await store.now()) + 1000;
    const outcomes = await store.commit([
      transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 0)], not_after_ms }),
      transactionOf(projectKey, { swaps: [swapOf(projectKey, '~b', 0)] }),
    ]);
    expect(outcomes).toMatchObject([{ kind: 'late' }, { kind: 'committed', positions: [2] }]);
    await expectSound(store, projectKey, 2);
  });

  it('does not void a transaction that took effect before not_after_ms', async () => {
    const clock = new ManualClock(Date.now());
    const proxy = await openProxy();
    const store = await open(proxy.options, clock);
    const projectKey = newProjectKey();
    const not_after_ms = (await store.now()) + 1000;
    const lose = firstCalls(1, 'TransactWriteItems', 'lose_reply');
    proxy.fate = (call) => {
      if (isTransaction(call)) clock.advance(5000);
      return lose(call);
    };
    const [outcome] = await store.commit([
      transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 0)], not_after_ms }),
    ]);
    expect(outcome).toMatchObject({ kind: 'committed', positions: [1] });
    await expectSound(store, projectKey, 1);
  });

  it('voids a transaction for good: it fails if it arrives later', async () => {
    const clock = new ManualClock(Date.now());
    const proxy = await openProxy();
    const store = await open(proxy.options, clock);
    const projectKey = newProjectKey();
    await store.commit([claim(projectKey, '~first')]);
    let delayed: ProxiedCall['body'] = {};
    proxy.fate = ({ operation, body }) => {
      if (operation !== 'TransactWriteItems') return 'pass';
      delayed = body;
      clock.advance(5000);
      return 'cut';
    };
    const not_after_ms = (await store.now()) + 1000;
    const late = transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 0)], not_after_ms });
    expect(kindsOf(await store.commit([late]))).toEqual(['late']);
    const { client, driver } = await DynamoClient.connect(options, Date.now);
    onTestFinished(() => client.destroy());
    const arrival = client.send(new driver.TransactWriteItemsCommand(delayed as never));
    await expect(arrival).rejects.toThrow(driver.TransactionCanceledException);
    await expectSound(store, projectKey, 1);
  });

  it('creates no project by voiding its first transaction', async () => {
    const clock = new ManualClock(Date.now());
    const proxy = await openProxy();
    const store = await open(proxy.options, clock);
    const projectKey = newProjectKey();
    proxy.fate = ({ operation }) => {
      if (operation !== 'TransactWriteItems') return 'pass';
      clock.advance(5000);
      return 'cut';
    };
    const not_after_ms = (await store.now()) + 1000;
    const late = transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 0)], not_after_ms });
    expect(kindsOf(await store.commit([late]))).toEqual(['late']);
    expect(await store.project(projectKey)).toBeNull();
    expect(await store.projects(projectKey.tenant_id)).toEqual([]);
    proxy.fate = () => 'pass';
    await store.commit([claim(projectKey, '~a')]);
    expect(await store.projects(projectKey.tenant_id)).toEqual([projectKey.project_id]);
    await expectSound(store, projectKey, 1);
  });

  it('does not take the transaction of another store for its own when a reply is lost', async () => {
    const proxy = await openProxy();
    const [store, other] = await Promise.all([open(proxy.options), open()]);
    const projectKey = newProjectKey();
    await store.commit([claim(projectKey, '~first')]);
    let overtaken: Promise<unknown> | null = null;
    let isOvertaken = false;
    proxy.fate = ({ operation }) => {
      if (operation !== 'TransactWriteItems' || isOvertaken) return 'pass';
      overtaken ??= other.commit([claim(projectKey, '~other')]).then(() => {
        isOvertaken = true;
      });
      return 'cut';
    };
    const [outcome] = await store.commit([
      transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 0)] }),
    ]);
    await overtaken;
    expect(outcome).toMatchObject({ kind: 'committed', positions: [3] });
    await expectSound(store, projectKey, 3);
  });

  it('recognizes its own transaction without events when a reply is lost', async () => {
    const proxy = await openProxy();
    const store = await open(proxy.options);
    const projectKey = newProjectKey();
    await store.commit([claim(projectKey, '~first')]);
    let sent = 0;
    proxy.fate = ({ operation, body }) => {
      if (operation !== 'TransactWriteItems') return 'pass';
      delete body.ClientRequestToken;
      sent += 1;
      return sent === 1 ? 'lose_reply' : 'pass';
    };
    const [outcome] = await store.commit([transactionOf(projectKey, { changes_rules: true })]);
    expect(outcome).toMatchObject({ kind: 'committed', rules_seq: 1 });
    expect(await store.project(projectKey)).toEqual({ position: 1, rules_seq: 1 });
  });

  it('stops reading at an event that is not visible yet, and returns it once it is', async () => {
    const proxy = await openProxy();
    const store = await open(proxy.options);
    const projectKey = newProjectKey();
    for (const n of range(1, 5)) await store.commit([claim(projectKey, `~${n}`)]);
    const read = async () =>
      (await store.events(projectKey, { after: 0, limit: 9 })).map(({ position }) => position);
    proxy.fate = firstCalls(1, 'Query', {
      edit: ({ Items = [] }) => ({ Items: Items.filter(({ sk }) => sk?.N !== '3') }),
    });
    expect(await read()).toEqual([1, 2]);
    expect(await read()).toEqual([1, 2, 3, 4, 5]);
  });

  it('is uncertain if the outcome of a transaction is unknown, and unavailable if it was never sent', async () => {
    const proxy = await openProxy();
    const store = await open({ ...proxy.options, patience_ms: 500 });
    const projectKey = newProjectKey();
    await store.commit([claim(projectKey, '~a')]);
    proxy.fate = ({ operation }) => (operation === 'TransactWriteItems' ? 'lose_reply' : 'pass');
    await expect(store.commit([claim(projectKey, '~b')])).rejects.toBeInstanceOf(StoreUncertain);
    await proxy.close();
    await expect(store.commit([claim(projectKey, '~c')])).rejects.toBeInstanceOf(StoreUnavailable);
    await expect(store.heads(projectKey, ['~a'])).rejects.toBeInstanceOf(StoreUnavailable);
    await expectSound(await open(), projectKey, 2);
  });

  it('times out on a call without a reply', async () => {
    const proxy = await openProxy();
    proxy.fate = () => 'hold';
    const dynamo = await DynamoClient.connect({ ...proxy.options, reply_ms: 50, patience_ms: 0 }, Date.now);
    onTestFinished(() => dynamo.close());
    const { state } = dynamo.tables;
    await expect(dynamo.get(state, META_KEY)).rejects.toThrow(
      /DynamoDB does not respond .* 50 ms requestTimeout/,
    );
    const put = { TableName: state, Item: META_KEY };
    const mark = { table: state, key: META_KEY };
    const transaction = { id: randomUUID(), writes: [{ Put: put }], mark, voidingPut: put };
    await expect(dynamo.transact({ ...transaction, not_after_ms: Infinity })).rejects.toThrow(StoreUncertain);
  });

  it('retries nothing after it was closed', async () => {
    const proxy = await openProxy();
    const dynamo = await DynamoClient.connect(proxy.options, Date.now);
    proxy.fate = () => {
      dynamo.close();
      return 'cut';
    };
    await expect(dynamo.get(dynamo.tables.state, META_KEY)).rejects.toBeInstanceOf(StoreUnavailable);
    expect(proxy.calls).toHaveLength(1);
  });

  it('completes a commit of many transactions, however long they take in sequence', async () => {
    const clock = new ManualClock(Date.now());
    const proxy = await openProxy();
    const store = await open({ ...proxy.options, contention_ms: 15_000 }, clock);
    const projectKey = newProjectKey();
    proxy.fate = (call) => {
      if (isTransaction(call)) clock.advance(10_000);
      return 'pass';
    };
    const swap = (n: number) => transactionOf(projectKey, { swaps: [swapOf(projectKey, `~${n}`, 0)] });
    const outcomes = await store.commit(range(1, 400).map(swap));
    expect(new Set(kindsOf(outcomes))).toEqual(new Set(['committed']));
    expect(proxy.calls.filter(isTransaction).length).toBeGreaterThan(3);
  });

  it('is unavailable after it loses to concurrent commits for too long', async () => {
    const clock = new ManualClock(Date.now());
    const proxy = await openProxy();
    const store = await open({ ...proxy.options, contention_ms: 15_000 }, clock);
    const projectKey = newProjectKey();
    await store.commit([claim(projectKey, '~first')]);
    proxy.fate = (call) => {
      if (!isTransaction(call)) return 'pass';
      clock.advance(10_000);
      return { error: 'TransactionCanceledException', reasons: ['ConditionalCheckFailed'] };
    };
    const attempt = store.commit([claim(projectKey, '~a')]);
    await expect(attempt).rejects.toThrow(StoreUnavailable);
    await expect(attempt).rejects.toThrow(/Too many concurrent changes/);
    proxy.fate = () => 'pass';
    await expectSound(store, projectKey, 1);
  });
}

function describeDeath({ store: open }: DynamodbHarness, database: Required<TestDatabase>): void {
  it('keeps every acknowledged commit exactly once under load', async () => {
    const projectKey = newProjectKey();
    const stores = await Promise.all([open(), open()]);
    const committedPositions = new Map<string, number>();
    let isStopped = false;
    const commitContinuously = async (store: Store, worker: number) => {
      for (let n = 0; !isStopped; n += 1) {
        const subject = `~${worker}-${n}`;
        const [outcome] = await retryUntilAvailable(() => store.commit([claim(projectKey, subject)]));
        expect(['committed', 'replay']).toContain(outcome?.kind);
        committedPositions.set(subject, positionOf(outcome as CommitOutcome));
      }
    };
    const workers = stores.flatMap((store, name) => [
      commitContinuously(store, name * 2),
      commitContinuously(store, name * 2 + 1),
    ]);
    await waitUntil(() => committedPositions.size > 10);
    await database.restart();
    const countBefore = committedPositions.size;
    await waitUntil(() => committedPositions.size > countBefore + 10);
    isStopped = true;
    await Promise.all(workers);
    const store = stores[0] as Store;
    const events = await store.events(projectKey, { after: 0, limit: 10_000 });
    for (const [subject, position] of committedPositions) expect(events[position - 1]?.subject).toBe(subject);
    await expectSound(store, projectKey, committedPositions.size);
  });
}

const isTransaction = ({ operation }: ProxiedCall): boolean => operation === 'TransactWriteItems';

async function retryUntilAvailable<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreUnavailable || error instanceof StoreUncertain)) throw error;
    }
  }
}

function positionOf(outcome: CommitOutcome): number {
  if (outcome.kind === 'replay') return outcome.request.positions[0] as number;
  return (outcome as Extract<CommitOutcome, { kind: 'committed' }>).positions[0] as number;
}

async function waitUntil(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Positions have no gap, no event is duplicated, and there are as many events as heads. */
async function expectSound(store: Store, projectKey: ProjectKey, count: number): Promise<void> {
  const events = await store.events(projectKey, { after: 0, limit: 10_000 });
  expect(events.map(({ position }) => position)).toEqual(range(1, count));
  expect(new Set(events.map(({ event_id }) => event_id)).size).toBe(count);
  const heads = await store.scanHeads(projectKey, { after: null, limit: 10_000 });
  expect(heads.map(({ subject }) => subject)).toEqual(events.map(({ subject }) => subject).sort());
  expect(await store.project(projectKey)).toMatchObject({ position: count });
}
