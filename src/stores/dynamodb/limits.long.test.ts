import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { isoTime } from '../../core/events/envelope.js';
import { eventOf, range, swapOf, swapWith, transactionOf } from '../conformance/fixture.js';
import { type EventQuery, type ProjectKey, type Store, StoreRefused } from '../store.js';
import { BucketIndex } from './bucket-index.js';
import { DynamoClient } from './connection.js';
import { projectFromItem } from './items.js';
import { BUCKET_SIZE, N, rowKey } from './keys.js';
import { describeOnDynamodb } from './testing/harness.js';
import type { ProxiedCall } from './testing/proxy.js';

const newProjectKey = (): ProjectKey => ({ tenant_id: `t-${randomUUID()}`, project_id: 'p' });
const HOUR_MS = 3_600_000;

await describeOnDynamodb('the limits of DynamoDB', ({ options, store: open, proxy: openProxy }) => {
  it('do not apply to a head or an event of a megabyte: both are returned unchanged', async () => {
    const store = await open();
    const projectKey = newProjectKey();
    const record = { text: 'ü'.repeat(600_000) };
    const swap = swapWith('~a', 0, [eventOf(projectKey, { subject: '~a', seq: 1, payload: { record } })]);
    await store.commit([transactionOf(projectKey, { swaps: [swap] })]);
    expect(await store.heads(projectKey, ['~a'])).toEqual([swap.head]);
    expect((await store.events(projectKey, { after: 0, limit: 1 }))[0]?.payload).toEqual({ record });
    const [conflict] = await store.commit([
      transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 0)] }),
    ]);
    expect(conflict).toMatchObject({ kind: 'conflict', heads: [{ head: swap.head }] });
  });

  it('do not apply to a commit: one with too many bytes is split into several DynamoDB transactions', async () => {
    const store = await open();
    const projectKey = newProjectKey();
    const payload = { record: { text: 'x'.repeat(60_000) } };
    const transactions = range(1, 50).map((n) => {
      const event = eventOf(projectKey, { subject: `~s${n}`, seq: 1, payload });
      return transactionOf(projectKey, { swaps: [swapWith(`~s${n}`, 0, [event])] });
    });
    const outcomes = await store.commit(transactions);
    expect(outcomes.map((outcome) => outcome.kind === 'committed' && outcome.positions[0])).toEqual(
      range(1, 50),
    );
  });

  it('allow a transaction of ninety swaps with two events each, and event filters find these events', async () => {
    const store = await open();
    const projectKey = newProjectKey();
    await store.commit([transactionOf(projectKey, { swaps: [swapOf(projectKey, '~first', 0)] })]);
    const swaps = range(1, 90).map((n) => swapOf(projectKey, `~s${n}`, 0, 2));
    const [outcome] = await store.commit([transactionOf(projectKey, { swaps })]);
    expect(outcome).toMatchObject({ kind: 'committed', positions: range(2, 181) });
    const events = await store.events(projectKey, { after: 0, limit: 1000 });
    expect(events.map(({ position }) => position)).toEqual(range(1, 181));
    const matching = await store.events(projectKey, { after: 100, limit: 10, subject: '~s70' });
    expect(matching.map(({ position, seq }) => [position, seq])).toEqual([
      [140, 1],
      [141, 2],
    ]);
    expect(await store.events(projectKey, { after: 50, limit: 1000, agent_id: 'agent-1' })).toHaveLength(131);
  });

  it('refuse a transaction with too many heads as a whole', async () => {
    const store = await open();
    const projectKey = newProjectKey();
    const swaps = range(1, 120).map((n) => swapOf(projectKey, `~s${n}`, 0));
    await expect(store.commit([transactionOf(projectKey, { swaps })])).rejects.toBeInstanceOf(StoreRefused);
    expect(await store.project(projectKey)).toBeNull();
  });

  it('let only requests have a time to live', async () => {
    const proxy = await openProxy();
    const store = await open(proxy.options);
    const projectKey = newProjectKey();
    const requests = [{ key: 'k', digest: 'd', keep: true }];
    await store.commit([transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 0)], requests })]);
    const sent = proxy.calls.filter(({ operation }) => operation === 'TransactWriteItems');
    const puts = sent.flatMap(({ body }) =>
      (body.TransactItems as { Put?: { TableName: string; Item: object } }[]).flatMap(({ Put }) => Put ?? []),
    );
    const expiring = puts.filter(({ Item }) => 'ttl' in Item).map(({ TableName }) => TableName);
    expect(new Set(expiring)).toEqual(new Set([`${options.namespace}-requests`]));
    expect(puts.length).toBeGreaterThan(expiring.length);
  });
});

const LAST_HOUR = 14;
const LATER = { event_type: 'later', agent_id: 'later', timestamp: isoTime(LAST_HOUR * HOUR_MS + 1000) };
const FILTERS: [string, Partial<EventQuery>, number][] = [
  ['subject', { subject: '~s7' }, 2],
  ['session', { session_id: 'rare' }, 2],
  ['task', { task_id: 'T-7' }, 2],
  ['feature', { feature_id: 'F-7' }, 2],
  ['edge', { edge: 'rare' }, 2],
  ['agent', { agent_id: 'rare' }, 2],
  ['type', { types: ['RARE', 'none'] }, 2],
  ['time', { since: isoTime(7 * HOUR_MS), until: isoTime(8 * HOUR_MS) }, 2],
  ['feature over time', { feature_id: 'F-7', since: isoTime(7 * HOUR_MS), until: isoTime(8 * HOUR_MS) }, 2],
  ['type over time', { types: ['common'], since: isoTime(11 * HOUR_MS), until: isoTime(12 * HOUR_MS) }, 80],
  [
    'agent over time',
    { agent_id: 'agent-1', since: isoTime(11 * HOUR_MS), until: isoTime(12 * HOUR_MS) },
    80,
  ],
];

await describeOnDynamodb(
  'the filters of the dynamodb store',
  ({ options, store: open, proxy: openProxy }) => {
    /**
     * Commits of 80 events, one per hour: more than one bucket. Two events of hour 7 are rare; the others of that commit
     * are an hour late.
     */
    async function commitEvents(projectKey: ProjectKey, store: Store): Promise<void> {
      for (const hour of range(0, LAST_HOUR)) {
        const notes = range(1, 80).map((n) => {
          const isRare = hour === 7 && n <= 2;
          const names = {
            task_id: 'T-7',
            feature_id: 'F-7',
            edge: 'rare',
            agent_id: 'rare',
            session_id: 'rare',
          };
          return eventOf(projectKey, {
            timestamp: isoTime((hour === 7 && !isRare ? 6 : hour) * HOUR_MS + n),
            event_type: isRare ? 'RARE' : 'common',
            ...(isRare ? { ...names, subject: '~s7' } : {}),
          });
        });
        await store.commit([transactionOf(projectKey, { loose_events: notes })]);
      }
    }

    /** Commits until the row says that the first bucket is indexed, which happens in the background. */
    async function commitUntilIndexed(projectKey: ProjectKey, store: Store): Promise<void> {
      const dynamo = await DynamoClient.connect(options, Date.now);
      onTestFinished(() => dynamo.close());
      for (;;) {
        const row = projectFromItem(await dynamo.get(dynamo.tables.state, rowKey(projectKey)));
        if (row.indexed_buckets > 0) return;
        await store.commit([transactionOf(projectKey, { loose_events: [eventOf(projectKey, LATER)] })]);
      }
    }

    it('read little more than they find', async () => {
      const projectKey = newProjectKey();
      const proxy = await openProxy();
      const store = await open(proxy.options);
      await commitEvents(projectKey, store);
      await commitUntilIndexed(projectKey, store);
      for (const [name, query, count] of FILTERS) {
        proxy.calls.length = 0;
        const matching = await store.events(projectKey, { after: 0, limit: 100, ...query });
        expect([name, matching.length]).toEqual([name, count]);
        const bucketsRead = bucketsOf(proxy.calls);
        // The first bucket is indexed. The index narrows a time only to whole buckets.
        const isTimeAlone = Object.keys(query).every((field) => field === 'since' || field === 'until');
        if (!isTimeAlone) expect([name, bucketsRead]).toEqual([name, ['1']]);
        expect(proxy.calls.length).toBeLessThanOrEqual(8);
      }
    });

    it('read no bucket whose events are all before the requested time', async () => {
      const projectKey = newProjectKey();
      const proxy = await openProxy();
      const store = await open(proxy.options);
      await commitEvents(projectKey, store);
      await commitUntilIndexed(projectKey, store);
      const dynamo = await DynamoClient.connect(options, Date.now);
      onTestFinished(() => dynamo.close());
      await new BucketIndex(dynamo, projectKey).write(1, [
        {
          item: { high_ms: N(LAST_HOUR * HOUR_MS) },
          events: Array(BUCKET_SIZE).fill(eventOf(projectKey, {})),
        },
      ]);
      proxy.calls.length = 0;
      await store.events(projectKey, { after: 0, limit: 100, since: isoTime(LAST_HOUR * HOUR_MS + 1) });
      const bucketsRead = bucketsOf(proxy.calls);
      expect(bucketsRead).toEqual(['1']);
    });

    it('find events that are not in the index', async () => {
      const projectKey = newProjectKey();
      const proxy = await openProxy();
      proxy.fate = ({ operation }) =>
        operation === 'BatchWriteItem' ? { error: 'AccessDeniedException' } : 'pass';
      const store = await open(proxy.options);
      await commitEvents(projectKey, store);
      // Indexing fails, and is tried again after a later commit.
      const countBatchWrites = () =>
        proxy.calls.filter(({ operation }) => operation === 'BatchWriteItem').length;
      while (countBatchWrites() < 2) {
        await store.commit([transactionOf(projectKey, { loose_events: [eventOf(projectKey, LATER)] })]);
      }
      for (const [name, query, count] of FILTERS) {
        const matching = await store.events(projectKey, { after: 0, limit: 100, ...query });
        expect([name, matching.length]).toEqual([name, count]);
      }
    });
  },
);

/** The buckets that were read as a whole. */
const bucketsOf = (calls: readonly ProxiedCall[]): string[] =>
  calls
    .filter(({ operation }) => operation === 'Query')
    .flatMap(({ body }) => /#E#(\d+)"\}/.exec(JSON.stringify(body))?.[1] ?? []);
