import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { isoTime, type NewEvent } from '../../core/events/envelope.js';
import { eventOf, range, swapOf, transactionOf } from '../conformance/fixture.js';
import { openMemoryStore } from '../memory/memory-store.js';
import { type EventQuery, type ProjectKey, type Store, StoreRefused, type Transaction } from '../store.js';
import { DynamodbBlobs } from './blobs.js';
import { DynamoClient } from './connection.js';
import { openDynamodbMigrator, openDynamodbStore } from './dynamodb-store.js';
import { projectFromItem } from './items.js';
import { BUCKET_SIZE, N, rowKey } from './keys.js';
import type { DynamodbOptions } from './options.js';
import { describeOnDynamodb } from './testing/harness.js';
import { TablesOfV1 } from './testing/tables-of-v1.js';

const FOREVER = Number.POSITIVE_INFINITY;
const HOUR_MS = 3_600_000;
const LOOSE_EVENTS = 1200;

const PROJECTS: readonly ProjectKey[] = [
  { tenant_id: 'acme', project_id: 'a#b' },
  { tenant_id: 'acme', project_id: 'two' },
  { tenant_id: 'glo/bex', project_id: 'p' },
];

/** Heads, some of work with a permit, events of every kind, requests, and permits that are not on heads. */
function transactionsOf(project: ProjectKey): Transaction[] {
  const loose = (n: number): Partial<NewEvent> => ({
    event_type: n % 3 === 0 ? 'THIRD' : 'OTHER',
    agent_id: `agent-${n % 5}`,
    timestamp: isoTime(Date.UTC(2020, 0, 1) + (n - (n % 7)) * HOUR_MS),
    ...(n % 2 === 0 ? { session_id: `s${n % 7}`, feature_id: 'F-1', edge: 'design_code' } : {}),
    ...(n % 4 === 0 ? { task_id: 'T-1', subject: n % 8 === 0 ? 'T-1' : '~note' } : {}),
    payload: { n, text: 'é\n"quoted"' },
  });
  return [
    ...range(1, 40).map((n) =>
      transactionOf(project, {
        swaps: [swapOf(project, `~head${n}`, 0, 1 + (n % 3))],
        requests: [{ key: `k${n}`, digest: `d${n}`, keep: true, ...(n % 2 ? { reply: { n } } : {}) }],
        permits: [{ scope: 'work', member: `~head${n}`, until_ms: n % 2 ? FOREVER : Date.now() + HOUR_MS }],
      }),
    ),
    ...range(1, 3).map((n) =>
      transactionOf(project, { permits: [{ scope: 'sessions', member: `s${n}`, until_ms: FOREVER }] }),
    ),
    ...range(1, LOOSE_EVENTS).map((n) =>
      transactionOf(project, { loose_events: [eventOf(project, loose(n))] }),
    ),
    transactionOf(project, { swaps: [swapOf(project, '~head1', 2)], changes_rules: true }),
  ];
}

const QUERIES: Partial<EventQuery>[] = [
  {},
  { subject: '~head1' },
  { subject: '~note' },
  { task_id: 'T-1' },
  { session_id: 's4' },
  { agent_id: 'agent-3', types: ['THIRD'] },
  { types: ['THIRD', 'thing_happened'] },
  { feature_id: 'F-1', edge: 'design_code' },
  { since: isoTime(Date.UTC(2020, 0, 9)), until: isoTime(Date.UTC(2020, 0, 10)) },
  { after: 1000, until_position: 1090 },
  { after: 1000, until_position: 1090, agent_id: 'agent-3' },
];

/** What every method returns. */
async function contentOf(store: Store): Promise<unknown[]> {
  const content: unknown[] = [];
  for (const project of PROJECTS) {
    content.push(await store.project(project), await store.projects(project.tenant_id));
    content.push(await store.scanHeads(project, { after: null, limit: 1000 }));
    content.push(await store.heads(project, ['~head1', '~none', '~head40']));
    for (const scope of ['work', 'sessions', 'none'])
      content.push(await store.countPermits(project.tenant_id, scope));
    for (const query of QUERIES)
      content.push(await store.events(project, { after: 0, limit: 5000, ...query }));
  }
  return content;
}

/** The outcomes of transactions that are refused, and of one that releases a permit. */
async function outcomesOf(store: Store): Promise<unknown[]> {
  const outcomes = [];
  for (const project of PROJECTS) {
    const existing = (await store.events(project, { after: 100, limit: 1, types: ['THIRD'] }))[0]!;
    const { position, ...looseEvent } = existing;
    outcomes.push(
      ...(await store.commit([
        transactionOf(project, { requests: [{ key: 'k1', digest: '', keep: false }] }),
        transactionOf(project, { requests: [{ key: 'k40', digest: '', keep: false }] }),
        transactionOf(project, { swaps: [swapOf(project, '~head2', 1)] }),
        transactionOf(project, { loose_events: [looseEvent] }),
        transactionOf(project, {
          swaps: [swapOf(project, '~head3', 1)],
          permits: [{ scope: 'work', member: '~head3', until_ms: null, on_head: true }],
        }),
      ])),
    );
    outcomes.push(await store.countPermits(project.tenant_id, 'work'));
  }
  return outcomes.map((outcome) => (typeof outcome === 'number' ? outcome : { ...outcome, now_ms: 0 }));
}

await describeOnDynamodb('the migration of dynamodb tables from version 1', (harness) => {
  async function fillVersion1(
    options: DynamodbOptions,
    projects = PROJECTS,
  ): Promise<{ expected: Store; dynamo: DynamoClient; version1: TablesOfV1 }> {
    const expected = openMemoryStore();
    const dynamo = await DynamoClient.connect(options, Date.now);
    onTestFinished(() => dynamo.close());
    const version1 = new TablesOfV1(dynamo);
    await version1.create();
    for (const project of projects) {
      const transactions = transactionsOf(project);
      const outcomes = await expected.commit(transactions);
      const events = await expected.events(project, { after: 0, limit: 10_000 });
      const heads = await expected.scanHeads(project, { after: null, limit: 1000 });
      await version1.fill(project, transactions, outcomes, events, heads);
    }
    return { expected, dynamo, version1 };
  }

  it('keeps what every method returns, even if interrupted and run three times at once', async () => {
    const namespace = `old-${randomUUID()}`;
    const options = { ...harness.options, namespace };
    const { expected, dynamo, version1 } = await fillVersion1(options);
    await expect(openDynamodbStore(options)).rejects.toThrow(
      new StoreRefused(
        `The schema of the tables ${namespace}-* has version 1, and this program needs 2. Run: gen migrate --store URL`,
      ),
    );

    // The first run is interrupted after it has copied some of the buckets.
    const proxy = await harness.proxy();
    let advances = 0;
    proxy.fate = ({ operation }) => {
      if (operation !== 'UpdateItem') return 'pass';
      advances += 1;
      return advances > 4 ? { error: 'AccessDeniedException' } : 'pass';
    };
    const interrupted = await openDynamodbMigrator({ ...proxy.options, namespace });
    await expect(interrupted.up()).rejects.toThrow(/no access to the tables/);
    await interrupted.close();
    await expect(openDynamodbStore(options)).rejects.toBeInstanceOf(StoreRefused);

    const migrators = await Promise.all(range(1, 3).map(() => openDynamodbMigrator(options)));
    const taken = await Promise.all(migrators.map((migrator) => migrator.up()));
    expect(taken.flat().map(({ version }) => version)).toEqual([2]);
    expect(await migrators[0]?.pending()).toEqual([]);
    await Promise.all(migrators.map((migrator) => migrator.close()));

    const store = await harness.store(options);
    expect(await contentOf(store)).toEqual(await contentOf(expected));
    expect(await outcomesOf(expected)).toMatchObject(await outcomesOf(store));
    for (const project of PROJECTS) {
      const row = projectFromItem(await dynamo.get(dynamo.tables.state, rowKey(project)));
      expect(row.indexed_buckets).toBe(Math.floor(LOOSE_EVENTS / BUCKET_SIZE));
    }
    const blobs = new DynamodbBlobs(dynamo);
    for (const { tenant_id, sha256 } of version1.separateTexts)
      expect(await blobs.size(tenant_id, sha256)).toBeNull();
    const { TableNames } = await dynamo.client.send(
      new dynamo.driver.ListTablesCommand({ ExclusiveStartTableName: `${namespace}-`, Limit: 4 }),
    );
    expect(TableNames).toEqual(['blobs', 'log', 'requests', 'state'].map((name) => `${namespace}-${name}`));
  });

  it('leaves a row that no coordinator of version 1 can move', async () => {
    const options = { ...harness.options, namespace: `fenced-${randomUUID()}` };
    const [project] = PROJECTS as [ProjectKey];
    const { dynamo } = await fillVersion1(options, [project]);
    const { state } = dynamo.tables;
    const before = await dynamo.get(state, rowKey(project));
    const migrator = await openDynamodbMigrator(options);
    await migrator.up();
    await migrator.close();
    const after = await dynamo.get(state, rowKey(project));
    // Version 1 puts a row if its `version` is the one that it has read, or, if it has read none, if there is no row.
    const moved = { TableName: state, Item: { ...rowKey(project), version: N(1) } };
    const isSame = {
      ConditionExpression: '#version = :version',
      ExpressionAttributeNames: { '#version': 'version' },
      ExpressionAttributeValues: { ':version': before?.version ?? N(0) },
    };
    expect(await dynamo.putIf({ ...moved, ...isSame })).toBe(false);
    expect(after?.version).toBeUndefined();
    expect(await dynamo.putNew(state, moved.Item)).toBe(false);
  });

  it('refuses tables that lack an event, and a second run continues when it is back', async () => {
    const options = { ...harness.options, namespace: `gap-${randomUUID()}` };
    const { dynamo } = await fillVersion1(options, PROJECTS.slice(1, 2));
    const table = `${options.namespace}-events`;
    const key = { pk: { S: 'T#acme#P#two#E#11' }, position: N(1100) };
    const lost = await dynamo.get(table, key);
    await dynamo.delete(table, key);
    const migrator = await openDynamodbMigrator(options);
    onTestFinished(() => migrator.close());
    await expect(migrator.up()).rejects.toThrow(/event of acme\/two between 1024 and \d+ is missing/);
    await dynamo.putAll(table, [lost!]);
    expect(await migrator.up()).toHaveLength(1);
  });
});
