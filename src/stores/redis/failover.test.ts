import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { swapOf, transactionOf } from '../conformance/fixture.js';
import { StoreBroken, StoreUnavailable } from '../store.js';
import { onOwnRedis, type RedisHarness } from './testing/harness.js';

const HA = ['--appendonly', 'yes', '--appendfsync', 'everysec'];
const P = { tenant_id: 't', project_id: 'p' };
const swapTransaction = (subject: string) => transactionOf(P, { swaps: [swapOf(P, subject, 0)] });

await onOwnRedis(undefined, (redis) => describe('redis, profile durable,', () => describeDurable(redis)));
await onOwnRedis(HA, (redis) => describe('redis, profile ha,', () => describeHa(redis)));

function describeDurable(redis: RedisHarness): void {
  it('keeps its incarnation after a restart, since nothing was lost', async () => {
    const store = await redis.open();
    const meta = await store.meta();
    await redis.database.restart();
    await retryUntilAvailable(() => store.commit([swapTransaction('~after')]));
    expect(await (await redis.reopen()).meta()).toEqual(meta);
  });

  it('raises its incarnation after a replica was promoted', async () => {
    const store = await redis.open();
    const meta = await store.meta();
    await promote(redis);
    const later = await (await redis.reopen()).meta();
    expect(later.secret).toBe(meta.secret);
    expect(later.incarnation).toBeGreaterThan(meta.incarnation);
    expect(await (await redis.reopen()).meta()).toEqual(later);
  });
}

function describeHa(baseHarness: RedisHarness): void {
  const redis = baseHarness.withOptions({ profile: 'ha' });

  it('declares that it may lose acknowledged commits', async () => {
    const { capabilities } = await redis.open();
    expect(capabilities).toMatchObject({ durable: false, clock: 'store', single_writer: false });
    expect(capabilities.note).toMatch(/may be lost/);
  });

  it('raises its incarnation once after a server restart, and breaks the stores opened before', async () => {
    const stores = [await redis.open(), await redis.open()];
    const meta = await stores[0]!.meta();
    for (const store of stores) await store.commit([swapTransaction(`~${stores.indexOf(store)}`)]);
    await waitUntilWritten(redis);
    await redis.database.restart();
    for (const store of stores)
      await expect(retryUntilAvailable(() => store.commit([swapTransaction('~late')]))).rejects.toThrow(
        StoreBroken,
      );
    for (const store of stores) await expect(store.heads(P, ['~0'])).rejects.toThrow(StoreBroken);
    const later = [await (await redis.reopen()).meta(), await (await redis.reopen()).meta()];
    expect(later[0]!.incarnation).toBeGreaterThan(meta.incarnation);
    expect(later[1]).toEqual(later[0]);
  });

  it('refuses a commit on a connection that survived a change of primary', async () => {
    const store = await redis.open();
    await promote(redis);
    await expect(store.commit([swapTransaction('~stale')])).rejects.toThrow(StoreBroken);
    expect(await (await redis.reopen()).heads(P, ['~stale'])).toEqual([null]);
  });
}

/** With a sync each second, a busy Redis writes up to two seconds late, so that a crash could even lose the schema. */
const waitUntilWritten = (redis: RedisHarness): Promise<void> =>
  expect.poll(() => redis.runCommand<string>('INFO', 'persistence')).toMatch(/^aof_buffer_length:0\r?$/m);

/** Makes the server a replica for a while and then a primary again, as a failover and failback would. */
async function promote(redis: RedisHarness): Promise<void> {
  await redis.runCommand('REPLICAOF', '127.0.0.1', '1');
  await redis.runCommand('REPLICAOF', 'NO', 'ONE');
}

/** The first result other than `StoreUnavailable`. */
async function retryUntilAvailable<T>(attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      await pause(10);
    }
  }
}
