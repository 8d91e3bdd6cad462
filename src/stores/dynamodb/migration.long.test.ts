import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { range } from '../conformance/fixture.js';
import { openMemoryStore } from '../memory/memory-store.js';
import { type ProjectKey, type Store, StoreRefused } from '../store.js';
import { contentOf, transactionOutcomesOf, transactionsOf } from '../testing/migrated-content.js';
import { DynamodbBlobs } from './blobs.js';
import { DynamoClient } from './connection.js';
import { openDynamodbMigrator, openDynamodbStore } from './dynamodb-store.js';
import { projectFromItem } from './items.js';
import { BUCKET_SIZE, N, rowKey } from './keys.js';
import type { DynamodbOptions } from './options.js';
import { describeOnDynamodb } from './testing/harness.js';
import { TablesOfV1 } from './testing/tables-of-v1.js';

const LOOSE_EVENTS = 1200;

const PROJECTS: readonly ProjectKey[] = [
  { tenant_id: 'acme', project_id: 'a#b' },
  { tenant_id: 'acme', project_id: 'two' },
  { tenant_id: 'glo/bex', project_id: 'p' },
];

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
    for (const projectKey of projects) {
      const transactions = transactionsOf(projectKey, LOOSE_EVENTS);
      const outcomes = await expected.commit(transactions);
      const events = await expected.events(projectKey, { after: 0, limit: 10_000 });
      const heads = await expected.scanHeads(projectKey, { after: null, limit: 1000 });
      await version1.fill(projectKey, transactions, outcomes, events, heads);
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
    const appliedSteps = await Promise.all(migrators.map((migrator) => migrator.up()));
    expect(appliedSteps.flat().map(({ version }) => version)).toEqual([2]);
    expect(await migrators[0]?.pending()).toEqual([]);
    await Promise.all(migrators.map((migrator) => migrator.close()));

    const store = await harness.store(options);
    expect(await contentOf(store, PROJECTS)).toEqual(await contentOf(expected, PROJECTS));
    expect(await transactionOutcomesOf(expected, PROJECTS)).toMatchObject(
      await transactionOutcomesOf(store, PROJECTS),
    );
    for (const projectKey of PROJECTS) {
      const row = projectFromItem(await dynamo.get(dynamo.tables.state, rowKey(projectKey)));
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

  it('leaves a row that no coordinator of version 1 can update', async () => {
    const options = { ...harness.options, namespace: `fenced-${randomUUID()}` };
    const [projectKey] = PROJECTS as [ProjectKey];
    const { dynamo } = await fillVersion1(options, [projectKey]);
    const { state } = dynamo.tables;
    const before = await dynamo.get(state, rowKey(projectKey));
    const migrator = await openDynamodbMigrator(options);
    await migrator.up();
    await migrator.close();
    const after = await dynamo.get(state, rowKey(projectKey));
    // Version 1 puts a row only if the stored `version` is the one that it has read. If it has read none, it puts a row
    // only if there is none.
    const moved = { TableName: state, Item: { ...rowKey(projectKey), version: N(1) } };
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
    await expect(migrator.up()).rejects.toThrow(
      /event of acme\/two between the positions 1024 and \d+ is missing/,
    );
    await dynamo.putAll(table, [lost!]);
    expect(await migrator.up()).toHaveLength(1);
  });
});
