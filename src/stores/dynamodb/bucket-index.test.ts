import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { eventOf, range } from '../conformance/fixture.js';
import { BucketIndex, lastOfBucket } from './bucket-index.js';
import { DynamoClient } from './connection.js';
import { BUCKET_SIZE, bucketPartition, indexPartition, N, numberOf, S, timePartition } from './keys.js';
import { describeOnDynamodb } from './testing/harness.js';

await describeOnDynamodb('the index of a bucket', ({ options }) => {
  const open = async () => {
    const dynamo = await DynamoClient.connect(options, Date.now);
    onTestFinished(() => dynamo.close());
    const projectKey = { tenant_id: `t-${randomUUID()}`, project_id: 'p' };
    /** A page with `count` events of an agent. */
    const pageOf = (agent_id: string, first: number, count: number) => ({
      item: { sk: N(first + count - 1), high_ms: N(first) },
      events: range(first, first + count - 1).map((position) => ({
        ...eventOf(projectKey, { agent_id }),
        position,
      })),
    });
    const partitionItems = (pk: string) => dynamo.partition(dynamo.tables.log, pk);
    return { index: new BucketIndex(dynamo, projectKey), projectKey, pageOf, partitionItems };
  };

  it('is not written before all events of the bucket are visible', async () => {
    const { index, projectKey, pageOf, partitionItems } = await open();
    expect(await index.write(1, [pageOf('a', BUCKET_SIZE, BUCKET_SIZE - 1)])).toBe(false);
    expect(await partitionItems(timePartition(projectKey))).toEqual([]);
  });

  it('has an item for each value, which lists the pages that contain it', async () => {
    const { index, projectKey, pageOf, partitionItems } = await open();
    const pages = [
      pageOf('a', BUCKET_SIZE, 20),
      pageOf('b', BUCKET_SIZE + 20, BUCKET_SIZE - 30),
      pageOf('a', 2 * BUCKET_SIZE - 10, 10),
    ];
    for (const _ of ['once', 'again']) expect(await index.write(1, pages)).toBe(true);
    const pk = S(indexPartition(projectKey, 'agent_id', 'a'));
    expect(await partitionItems(pk.S as string)).toEqual([
      { pk, sk: N(1), pages: S(`19,${BUCKET_SIZE - 1}`) },
    ]);
    const [time, ...others] = await partitionItems(timePartition(projectKey));
    expect([numberOf(time?.sk), numberOf(time?.position), others]).toEqual([BUCKET_SIZE, BUCKET_SIZE, []]);
    const [source] = index.sourcesFor('agent_id', ['a'], { after: BUCKET_SIZE + 30, until: lastOfBucket(1) });
    const bucket = S(bucketPartition(projectKey, 1));
    expect((await source?.next())?.value).toEqual([{ pk: bucket, sk: N(lastOfBucket(1)) }]);
  });

  it('finds a task whether or not it is the subject', async () => {
    const { index, projectKey, pageOf } = await open();
    const tasks = [
      { task_id: 'T-1', subject: 'T-1' },
      { task_id: 'T-1', subject: 'F-1' },
      { task_id: 'T-2', subject: 'T-2' },
    ];
    const pages = tasks.map((task, n) => {
      const { item, events } = pageOf('a', BUCKET_SIZE + n * 10, n === 2 ? BUCKET_SIZE - 20 : 10);
      return { item, events: events.map((event) => ({ ...event, ...task })) };
    });
    await index.write(1, pages);
    const range = { after: 0, until: lastOfBucket(1) };
    const pageKeys = await Promise.all(
      index.sourcesFor('task_id', ['T-1'], range).map(async (source) => (await source.next()).value),
    );
    const pk = S(bucketPartition(projectKey, 1));
    expect(pageKeys).toEqual([[{ pk, sk: N(BUCKET_SIZE + 19) }], [{ pk, sk: N(BUCKET_SIZE + 9) }]]);
  });
});
