import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { eventOf, kindsOf, range, swapOf, transactionOf } from '../conformance/fixture.js';
import {
  type CommitOutcome,
  type ProjectKey,
  type Store,
  StoreUnavailable,
  StoreUncertain,
} from '../store.js';
import { onOwnRedis, type RedisHarness } from './testing/harness.js';
import { FaultyRedisProxy } from './testing/proxy.js';

let tenantCount = 0;
function newProject(): ProjectKey {
  tenantCount += 1;
  return { tenant_id: `t${tenantCount}`, project_id: 'p' };
}

await onOwnRedis(undefined, (redis) => {
  describe('several redis stores on one database', () => describeStores(redis));
  describe('redis killed under load', () => describeDeath(redis));
});

function describeStores(redis: RedisHarness): void {
  it('lose and duplicate no swap, show a follower no gaps, and never exceed a permit limit', async () => {
    const projectKey = newProject();
    const stores = await Promise.all(range(1, 4).map(() => redis.open()));
    const follower = readUntilLooseEvents(await redis.open(), projectKey, 4 * 40);
    const results = await Promise.all(
      stores.map((store, name) => raceForHead(store, projectKey, `s${name}`)),
    );
    const events = await follower;
    expect(events.map((event) => event.position)).toEqual(range(1, events.length));
    const swaps = events.filter((event) => event.subject === '~contested').map((event) => event.seq);
    expect(swaps).toEqual(
      range(
        1,
        results.reduce((sum, { swapCount }) => sum + swapCount, 0),
      ),
    );
    expect(results.reduce((sum, { takenCount }) => sum + takenCount, 0)).toBe(7);
    expect(await stores[0]?.countPermits(projectKey.tenant_id, 'work')).toBe(7);
  });

  it('reuse the permits of others once they expire', async () => {
    const projectKey = newProject();
    const [one, other] = [await redis.open(), await redis.open()];
    const takePermit = (store: Store, member: string, until_ms: number) =>
      store.commit([
        transactionOf(projectKey, {
          permits: [{ scope: 'work', member, until_ms }],
          permit_limits: [{ scope: 'work', max: 1 }],
        }),
      ]);
    expect(kindsOf(await takePermit(one, 'a', Number.POSITIVE_INFINITY))).toEqual(['committed']);
    expect(kindsOf(await takePermit(other, 'b', Number.POSITIVE_INFINITY))).toEqual(['full']);
    const untilMs = (await one.now()) + 100;
    expect(kindsOf(await takePermit(one, 'a', untilMs))).toEqual(['committed']);
    while ((await other.now()) < untilMs);
    expect(await other.countPermits(projectKey.tenant_id, 'work')).toBe(0);
    expect(kindsOf(await takePermit(other, 'b', Number.POSITIVE_INFINITY))).toEqual(['committed']);
  });

  it('refuse a commit as late that a frozen database delayed beyond not_after_ms', async () => {
    const projectKey = newProject();
    const store = await redis.open();
    const not_after_ms = (await store.now()) + 100;
    await redis.database.freeze();
    const waiting = store.commit([
      transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 0)], not_after_ms }),
    ]);
    while (Date.now() <= not_after_ms) await pause(10);
    redis.database.thaw();
    expect(kindsOf(await waiting)).toEqual(['late']);
    expect(await store.heads(projectKey, ['~a'])).toEqual([null]);
  });

  it('get the outcome of a commit whose reply was lost, and apply it once', async () => {
    const { store, proxy } = await openThroughProxy(redis);
    const projectKey = newProject();
    const looseEvent = eventOf(projectKey, {});
    // The first commit of a tenant sends another command first.
    await store.commit([transactionOf(projectKey, {})]);
    for (const round of [1, 2]) {
      proxy.repliesToDrop = round === 1 ? 1 : 0;
      const transaction = transactionOf(projectKey, {
        swaps: [swapOf(projectKey, `~a${round}`, 0)],
        loose_events: [looseEvent],
        changes_rules: true,
      });
      const [outcome] = await store.commit([transaction]);
      expect(outcome).toMatchObject({ kind: 'committed', rules_seq: round });
      if (round === 1) expect(outcome).toMatchObject({ positions: [1, 2] });
    }
    expect(await store.project(projectKey)).toEqual({ position: 3, rules_seq: 2 });
  });

  it('are unavailable, and change nothing, if the database was not reached', async () => {
    const { store, proxy } = await openThroughProxy(redis);
    const projectKey = newProject();
    await proxy.stop();
    // This query hits the broken connection, so that the commit starts without one.
    await expect(store.project(projectKey)).rejects.toThrow(StoreUnavailable);
    await expect(store.commit([transactionOf(projectKey, { changes_rules: true })])).rejects.toThrow(
      StoreUnavailable,
    );
  });

  it('work with a database whose script cache was flushed', async () => {
    const store = await redis.open();
    const projectKey = newProject();
    await redis.runCommand('SCRIPT', 'FLUSH');
    expect(kindsOf(await store.commit([transactionOf(projectKey, { changes_rules: true })]))).toEqual([
      'committed',
    ]);
  });

  it('a commit changes nothing when Redis is out of memory', async () => {
    const store = await redis.open();
    const projectKey = newProject();
    await redis.runCommand('CONFIG', 'SET', 'maxmemory', '1');
    const transaction = transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 0)] });
    await expect(store.commit([transaction])).rejects.toThrow(/memory of Redis is full/);
    await redis.runCommand('CONFIG', 'SET', 'maxmemory', '0');
    expect(await store.project(projectKey)).toBeNull();
    expect(kindsOf(await store.commit([transaction]))).toEqual(['committed']);
  });
}

function describeDeath(redis: RedisHarness): void {
  it('keeps every acknowledged commit exactly once', async () => {
    const projectKey = newProject();
    const stores = await Promise.all(range(1, 3).map(() => redis.open()));
    const load = new RedisCommitLoad(projectKey);
    const writers = stores.map((store, name) => load.write(store, `w${name}`));
    await load.untilAcknowledged(100);
    await redis.database.restart();
    await load.untilAcknowledged(load.acknowledged.size + 100);
    load.stop();
    await Promise.all(writers);
    const events = await stores[0]!.events(projectKey, { after: 0, limit: 100_000 });
    expect(events.map((event) => event.position)).toEqual(range(1, events.length));
    expect(new Set(events.map((event) => event.event_id)).size).toBe(events.length);
    for (const [eventId, position] of load.acknowledged) expect(events[position - 1]?.event_id).toBe(eventId);
    expect((await stores[0]!.meta()).incarnation).toBe(1);
  });
}

/** Competes for one head and for seven permits until it has committed forty loose events of its own. */
async function raceForHead(
  store: Store,
  projectKey: ProjectKey,
  name: string,
): Promise<{ swapCount: number; takenCount: number }> {
  let [seq, swapCount, takenCount] = [0, 0, 0];
  for (const n of range(1, 40)) {
    const [swap, permitOutcome] = await store.commit([
      transactionOf(projectKey, { swaps: [swapOf(projectKey, '~contested', seq)] }),
      transactionOf(projectKey, {
        permits: [{ scope: 'work', member: `${name}-${n}`, until_ms: Number.POSITIVE_INFINITY }],
        permit_limits: [{ scope: 'work', max: 7 }],
      }),
      transactionOf(projectKey, { loose_events: [eventOf(projectKey, { subject: '~own' })] }),
    ]);
    if (permitOutcome?.kind === 'committed') takenCount += 1;
    if (swap?.kind === 'committed') swapCount += 1;
    seq = swap?.kind === 'conflict' ? (swap.heads[0]?.head?.seq ?? 0) : seq + 1;
  }
  return { swapCount, takenCount };
}

/** Reads the feed as a coordinator does, until it has seen this many loose events. */
async function readUntilLooseEvents(
  store: Store,
  projectKey: ProjectKey,
  looseEventCount: number,
): Promise<EventEnvelope[]> {
  const events: EventEnvelope[] = [];
  for (let missing = looseEventCount; missing > 0; ) {
    const page = await store.events(projectKey, { after: events.at(-1)?.position ?? 0, limit: 50 });
    missing -= page.filter((event) => event.subject === '~own').length;
    events.push(...page);
  }
  return events;
}

async function openThroughProxy(redis: RedisHarness): Promise<{ store: Store; proxy: FaultyRedisProxy }> {
  await redis.migrate();
  const proxy = await FaultyRedisProxy.startFor(redis.options.host, redis.options.port);
  onTestFinished(() => proxy.stop());
  return { store: await redis.withOptions({ port: proxy.port }).reopen(), proxy };
}

/** Commits as fast as it gets replies, and keeps what was acknowledged. */
class RedisCommitLoad {
  readonly acknowledged = new Map<string, number>();
  private isStopped = false;
  private waiting: { count: number; resolve: () => void } | null = null;

  constructor(private readonly projectKey: ProjectKey) {}

  async write(store: Store, name: string): Promise<void> {
    for (let n = 1; !this.isStopped; n += 1) {
      const transaction = transactionOf(this.projectKey, {
        swaps: [swapOf(this.projectKey, `~${name}-${n}`, 0)],
      });
      const outcome = await this.commit(store, transaction);
      if (outcome?.kind !== 'committed') continue;
      this.acknowledged.set(transaction.swaps[0]!.events[0]!.event_id, outcome.positions[0] as number);
      if (this.waiting !== null && this.acknowledged.size >= this.waiting.count) this.waiting.resolve();
    }
  }

  untilAcknowledged(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.waiting = { count, resolve };
    });
  }

  stop(): void {
    this.isStopped = true;
  }

  private async commit(
    store: Store,
    transaction: Parameters<Store['commit']>[0][number],
  ): Promise<CommitOutcome | null> {
    try {
      return (await store.commit([transaction]))[0] ?? null;
    } catch (error) {
      if (!(error instanceof StoreUnavailable || error instanceof StoreUncertain)) throw error;
      await pause(10);
      return null;
    }
  }
}
