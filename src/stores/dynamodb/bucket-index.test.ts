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
    /** A page with so many events of an agent. */
    const pageOf = (agent_id: string, first: number, count: number) => ({
      item: { sk: N(first + count - 1), high_ms: N(first) },
      events: range(first, first + count - 1).map((position) => ({
        ...eventOf(projectKey, { agent_id }),
        position,
      })),
    });
    const items = (pk: string) => dynamo.partition(dynamo.tables.log, pk);
    return { index: new BucketIndex(dynamo, projectKey), projectKey, pageOf, items };
  };

  it('is not written while events are not all visible', async () => {
    const { index, projectKey, pageOf, items } = await open();
    expect(await index.write(1, [pageOf('a', BUCKET_SIZE, BUCKET_SIZE - 1)])).toBe(false);
    expect(await items(timePartition(projectKey))).toEqual([]);
  });

  it('has an item for each value, which lists the pages that contain it', async () => {
    const { index, projectKey, pageOf, items } = await open();
    const pages = [
      pageOf('a', BUCKET_SIZE, 20),
      pageOf('b', BUCKET_SIZE + 20, BUCKET_SIZE - 30),
      pageOf('a', 2 * BUCKET_SIZE - 10, 10),
    ];
    for (const _ of ['once', 'again']) expect(await index.write(1, pages)).toBe(true);
    const pk = S(indexPartition(projectKey, 'agent_id', 'a'));
    expect(await items(pk.S as string)).toEqual([{ pk, sk: N(1), pages: S(`19,${BUCKET_SIZE - 1}`) }]);
    const [time, ...others] = await items(timePartition(projectKey));
    expect([numberOf(time?.sk), numberOf(time?.position), others]).toEqual([BUCKET_SIZE, BUCKET_SIZE, []]);
    const [source] = index.sourcesFor('agent_id', ['a'], { after: BUCKET_SIZE + 30, until: lastOfBucket(1) });
    const bucket = S(bucketPartition(projectKey, 1));
    expect((await source?.next())?.value).toEqual([{ pk: bucket, sk: N(lastOfBucket(1)) }]);
  });
});
