import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { eventOf, kindsOf, range, swapOf, unitOf } from '../conformance/scene.js';
import { type Outcome, type ProjectKey, type Store, StoreUnavailable, StoreUncertain } from '../store.js';
import { FaultyLine } from './faulty-line.testing.js';
import { type OwnRedis, onOwnRedis } from './scene.testing.js';

let tenants = 0;
function newProject(): ProjectKey {
  tenants += 1;
  return { tenant_id: `t${tenants}`, project_id: 'p' };
}

await onOwnRedis(undefined, (redis) => {
  describe('redis, several stores over one engine', () => describeStores(redis));
  describe('redis that is ended as by a power cut, under load', () => describeDeath(redis));
});

function describeStores(redis: OwnRedis): void {
  it('lose and double no swap, give positions without gaps to whoever follows, and never exceed a room', async () => {
    const project = newProject();
    const stores = await Promise.all(range(1, 4).map(() => redis.open()));
    const follower = follow(await redis.open(), project, 4 * 40);
    const granted = await Promise.all(stores.map((store, name) => race(store, project, `s${name}`)));
    const seen = await follower;
    expect(seen.map((event) => event.position)).toEqual(range(1, seen.length));
    const swaps = seen.filter((event) => event.subject === '~contested').map((event) => event.seq);
    expect(swaps).toEqual(
      range(
        1,
        granted.reduce((sum, { swapped }) => sum + swapped, 0),
      ),
    );
    expect(granted.reduce((sum, { placed }) => sum + placed, 0)).toBe(7);
    expect(await stores[0]?.occupancy(project.tenant_id, 'work')).toBe(7);
  });

  it('free the places of others by time alone', async () => {
    const project = newProject();
    const [one, other] = [await redis.open(), await redis.open()];
    const take = (store: Store, member: string, until_ms: number) =>
      store.commit([
        unitOf(project, { slots: [{ scope: 'work', member, until_ms }], rooms: [{ scope: 'work', max: 1 }] }),
      ]);
    expect(kindsOf(await take(one, 'a', Number.POSITIVE_INFINITY))).toEqual(['committed']);
    expect(kindsOf(await take(other, 'b', Number.POSITIVE_INFINITY))).toEqual(['full']);
    const until_ms = (await one.now()) + 100;
    expect(kindsOf(await take(one, 'a', until_ms))).toEqual(['committed']);
    while ((await other.now()) < until_ms);
    expect(await other.occupancy(project.tenant_id, 'work')).toBe(0);
    expect(kindsOf(await take(other, 'b', Number.POSITIVE_INFINITY))).toEqual(['committed']);
  });

  it('do not pass a deadline for having waited for an engine that stood still', async () => {
    const project = newProject();
    const store = await redis.open();
    const not_after_ms = (await store.now()) + 100;
    await redis.engine.freeze();
    const waiting = store.commit([unitOf(project, { swaps: [swapOf(project, '~a', 0)], not_after_ms })]);
    while (Date.now() <= not_after_ms) await pause(10);
    redis.engine.thaw();
    expect(kindsOf(await waiting)).toEqual(['late']);
    expect(await store.heads(project, ['~a'])).toEqual([null]);
  });

  it('are told what happened when the answer was lost, and it happened once', async () => {
    const { store, line } = await throughLine(redis);
    const project = newProject();
    const note = eventOf(project, {});
    for (const lost of [1, 2]) {
      line.answers_to_lose = lost === 1 ? 1 : 0;
      const unit = unitOf(project, {
        swaps: [swapOf(project, `~a${lost}`, 0)],
        notes: [note],
        changes_rules: true,
      });
      const [outcome] = await store.commit([unit]);
      expect(outcome).toMatchObject({ kind: 'committed', rules_seq: lost });
      if (lost === 1) expect(outcome).toMatchObject({ positions: [1, 2] });
    }
    expect(await store.project(project)).toEqual({ position: 3, rules_seq: 2 });
  });

  it('say that nothing happened when the engine was never reached', async () => {
    const { store, line } = await throughLine(redis);
    const project = newProject();
    await line.stop();
    // The question meets the broken connection, so that the commit has none to begin with.
    await expect(store.project(project)).rejects.toThrow(StoreUnavailable);
    await expect(store.commit([unitOf(project, { changes_rules: true })])).rejects.toThrow(StoreUnavailable);
  });

  it('work with an engine that has forgotten its scripts', async () => {
    const store = await redis.open();
    const project = newProject();
    await redis.say('SCRIPT', 'FLUSH');
    expect(kindsOf(await store.commit([unitOf(project, { changes_rules: true })]))).toEqual(['committed']);
  });

  it('change nothing when the memory of the engine is full', async () => {
    const store = await redis.open();
    const project = newProject();
    await redis.say('CONFIG', 'SET', 'maxmemory', '1');
    const unit = unitOf(project, { swaps: [swapOf(project, '~a', 0)] });
    await expect(store.commit([unit])).rejects.toThrow(/memory of Redis is full/);
    await redis.say('CONFIG', 'SET', 'maxmemory', '0');
    expect(await store.project(project)).toBeNull();
    expect(kindsOf(await store.commit([unit]))).toEqual(['committed']);
  });
}

function describeDeath(redis: OwnRedis): void {
  it('has everything it acknowledged, and nothing twice', async () => {
    const project = newProject();
    const stores = await Promise.all(range(1, 3).map(() => redis.open()));
    const load = new Load(project);
    const writers = stores.map((store, name) => load.write(store, `w${name}`));
    await load.reaches(100);
    await redis.engine.restart();
    await load.reaches(load.acknowledged.size + 100);
    load.stop();
    await Promise.all(writers);
    const events = await stores[0]!.events(project, { after: 0, limit: 100_000 });
    expect(events.map((event) => event.position)).toEqual(range(1, events.length));
    expect(new Set(events.map((event) => event.event_id)).size).toBe(events.length);
    for (const [event_id, position] of load.acknowledged)
      expect(events[position - 1]?.event_id).toBe(event_id);
    expect((await stores[0]!.meta()).incarnation).toBe(1);
  });
}

/** Fights for one head and for places in a room of seven until it has committed forty notes of its own. */
async function race(
  store: Store,
  project: ProjectKey,
  name: string,
): Promise<{ swapped: number; placed: number }> {
  let [seq, swapped, placed] = [0, 0, 0];
  for (const n of range(1, 40)) {
    const [swap, place] = await store.commit([
      unitOf(project, { swaps: [swapOf(project, '~contested', seq)] }),
      unitOf(project, {
        slots: [{ scope: 'work', member: `${name}-${n}`, until_ms: Number.POSITIVE_INFINITY }],
        rooms: [{ scope: 'work', max: 7 }],
      }),
      unitOf(project, { notes: [eventOf(project, { subject: '~own' })] }),
    ]);
    if (place?.kind === 'committed') placed += 1;
    if (swap?.kind === 'committed') swapped += 1;
    seq = swap?.kind === 'conflict' ? (swap.heads[0]?.head?.seq ?? 0) : seq + 1;
  }
  return { swapped, placed };
}

/** Reads the feed as a coordinator does, until it has seen so many notes. */
async function follow(store: Store, project: ProjectKey, notes: number): Promise<EventEnvelope[]> {
  const seen: EventEnvelope[] = [];
  for (let left = notes; left > 0; ) {
    const page = await store.events(project, { after: seen.at(-1)?.position ?? 0, limit: 50 });
    left -= page.filter((event) => event.subject === '~own').length;
    seen.push(...page);
  }
  return seen;
}

async function throughLine(redis: OwnRedis): Promise<{ store: Store; line: FaultyLine }> {
  await redis.migrate();
  const line = await FaultyLine.to(redis.options.host, redis.options.port);
  onTestFinished(() => line.stop());
  return { store: await redis.with({ port: line.port }).reopen(), line };
}

/** Commits as fast as it is answered, and keeps what it was told. */
class Load {
  readonly acknowledged = new Map<string, number>();
  private stopped = false;
  private waiting: { count: number; tell: () => void } | null = null;

  constructor(private readonly project: ProjectKey) {}

  async write(store: Store, name: string): Promise<void> {
    for (let n = 1; !this.stopped; n += 1) {
      const unit = unitOf(this.project, { swaps: [swapOf(this.project, `~${name}-${n}`, 0)] });
      const outcome = await this.commit(store, unit);
      if (outcome?.kind !== 'committed') continue;
      this.acknowledged.set(unit.swaps[0]!.events[0]!.event_id, outcome.positions[0] as number);
      if (this.waiting !== null && this.acknowledged.size >= this.waiting.count) this.waiting.tell();
    }
  }

  reaches(count: number): Promise<void> {
    return new Promise((tell) => {
      this.waiting = { count, tell };
    });
  }

  stop(): void {
    this.stopped = true;
  }

  private async commit(store: Store, unit: Parameters<Store['commit']>[0][number]): Promise<Outcome | null> {
    try {
      return (await store.commit([unit]))[0] ?? null;
    } catch (error) {
      if (!(error instanceof StoreUnavailable || error instanceof StoreUncertain)) throw error;
      await pause(10);
      return null;
    }
  }
}
