import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { isoTime } from '../../core/events/envelope.js';
import { eventOf, kindsOf, range, swapOf, transactionOf } from '../conformance/fixture.js';
import { type ProjectKey, REQUEST_WINDOW_MS, type Store } from '../store.js';
import { REDIS_BLOB_BYTES_MAX } from './blobs.js';
import { onOwnRedis, type RedisHarness } from './testing/harness.js';

const P: ProjectKey = { tenant_id: 't', project_id: 'p' };
const KEY = 'genesis_fleet:{t}:project:p';
const HOUR_MS = 3_600_000;

const CLUSTER = ['--cluster-enabled', 'yes', '--appendonly', 'yes', '--appendfsync', 'always'];

await onOwnRedis(undefined, (redis) => describe('the keys of a redis store', () => describeKeys(redis)));
await onOwnRedis(CLUSTER, (redis) =>
  describe('a redis store on a node of a cluster', () => describeNode(redis)),
);

function describeKeys(redis: RedisHarness): void {
  it('index the positions of events by each value of each filter', async () => {
    const store = await redis.open();
    const fields = { feature_id: 'F-1', edge: 'design_code', agent_id: 'ada', session_id: 's1' };
    const event = eventOf(P, { event_type: 'A', subject: '~x', seq: 1, task_id: 'T-1', ...fields });
    await store.commit([
      transactionOf(P, {
        swaps: [{ subject: '~x', expected_seq: 0, head: { subject: '~x', seq: 1 }, events: [event] }],
      }),
      transactionOf(P, { loose_events: [eventOf(P, { subject: 'T-1', task_id: 'T-1', agent_id: 'bob' })] }),
    ]);
    const names = ['type:A', 'task:T-1', 'feature:F-1', 'edge:design_code', 'agent:ada', 'session:s1'];
    for (const name of names) expect(await redis.runCommand('HGET', `${KEY}:index`, name)).toBe('0:1');
    // By subject, the positions of events that change a head are in its entry in `marks` (seq, end of its permit, positions),
    // not in the index. A loose event has no head, so the index lists it by subject, and a filter by task finds both.
    expect(await redis.runCommand('HGET', `${KEY}:marks`, '~x')).toBe('1 0 0:1');
    expect(await redis.runCommand('HGET', `${KEY}:index`, 'subject:T-1')).toBe('0:2');
    expect(await foundPositions(store, P, { task_id: 'T-1' })).toEqual([1, 2]);
  });

  it('answer every filter from the index: few lists are read, and few events', async () => {
    const store = await redis.open();
    const projectKey = { ...P, project_id: 'indexed' };
    const rare = {
      event_type: 'RARE',
      agent_id: 'ada',
      session_id: 's1',
      feature_id: 'F-1',
      edge: 'e',
      task_id: 'T-1',
    };
    const subjectName = (n: number) => (n % 500 === 0 ? '~rare' : `~s${n}`);
    for (const from of range(0, 19).map((page) => page * 200)) {
      const transactions = range(from + 1, from + 200).map((n) =>
        n % 250 === 0
          ? transactionOf(projectKey, { loose_events: [eventOf(projectKey, rare)] })
          : transactionOf(projectKey, { swaps: [swapOf(projectKey, subjectName(n), 0)] }),
      );
      expect(new Set(kindsOf(await store.commit(transactions)))).toEqual(new Set(['committed']));
    }
    const filters = [
      { types: ['RARE'] },
      { agent_id: 'ada' },
      { session_id: 's1' },
      { feature_id: 'F-1' },
      { edge: 'e' },
      { task_id: 'T-1' },
    ];
    for (const filter of filters) {
      const [bytesBefore, callsBefore] = [await bytesSent(redis), await readCalls(redis)];
      expect(await foundPositions(store, projectKey, filter)).toEqual(range(1, 16).map((n) => n * 250));
      // 16 of 4,000 events: one chunk and one place in the list of commits for each.
      expect((await readCalls(redis)) - callsBefore).toBeLessThan(16 * 10);
      expect((await bytesSent(redis)) - bytesBefore).toBeLessThan(16 * 400 + 20_000);
    }
    expect(await foundPositions(store, projectKey, { subject: '~s1234' })).toEqual([1234]);
  });

  it('let a search by time skip what is outside its range, even if times are not in order', async () => {
    const store = await redis.open();
    const projectKey = { ...P, project_id: 'times' };
    const startMs = Date.UTC(2020, 0, 1);
    const hourOf = (position: number) => (position === 1900 ? 3 : position);
    await store.commit(
      range(1, 2000).map((position) =>
        transactionOf(projectKey, {
          loose_events: [eventOf(projectKey, { timestamp: isoTime(startMs + hourOf(position) * HOUR_MS) })],
        }),
      ),
    );
    const timeFilter = (from: number, to: number) => ({
      since: isoTime(startMs + from * HOUR_MS),
      until: isoTime(startMs + to * HOUR_MS),
    });
    const sentBefore = await bytesSent(redis);
    expect(await foundPositions(store, projectKey, timeFilter(2, 5))).toEqual([2, 3, 4, 1900]);
    expect(
      await foundPositions(store, projectKey, { ...timeFilter(1500, 1502), agent_id: 'agent-1' }),
    ).toEqual([1500, 1501]);
    expect(await foundPositions(store, projectKey, timeFilter(5000, 6000))).toEqual([]);
    // Three searches in 2,000 events: only the zones of 256 positions that contain the requested times.
    const eventBytes = JSON.stringify(eventOf(projectKey, {})).length;
    expect((await bytesSent(redis)) - sentBefore).toBeLessThan(4 * 256 * (eventBytes + 50));
  });

  it('do not expire, except the keys of batches', async () => {
    const store = await redis.open();
    const fromMs = await store.now();
    await commitSamples(store);
    const ends: number[] = [];
    for (const key of await redis.runCommand<string[]>('KEYS', 'genesis_fleet:*')) {
      const endMs = await redis.runCommand<number>('PEXPIRETIME', key);
      if (key.includes(':batch:')) ends.push(endMs);
      else expect({ key, endMs }).toEqual({ key, endMs: -1 });
    }
    // A batch of another test may have expired meanwhile.
    expect(ends).not.toContain(-1);
    expect(Math.max(...ends)).toBeGreaterThan(fromMs + 60_000);
  });

  it('stay distinct for all names of tenants and projects', async () => {
    const store = await redis.open();
    const projectKeys = ['a', 'a}', '{a}', 'a:p:b', 'a%3Ap'].flatMap((tenant_id) =>
      ['x', 'x:heads', 'x%3Aheads', 'x:by:type'].map((project_id) => ({ tenant_id, project_id })),
    );
    const outcomes = await store.commit(
      projectKeys.map((projectKey) => transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 0)] })),
    );
    expect(new Set(kindsOf(outcomes))).toEqual(new Set(['committed']));
    for (const projectKey of projectKeys)
      expect(await store.project(projectKey)).toEqual({ position: 1, rules_seq: 0 });
  });

  it('keep a request for the whole window, and not longer', async () => {
    const store = await redis.open();
    const projectKey = { ...P, project_id: 'requests' };
    const request = (key: string) =>
      transactionOf(projectKey, { requests: [{ key, digest: 'd', keep: true }] });
    for (const key of ['old', 'recent']) await store.commit([request(key)]);
    const order = 'genesis_fleet:{t}:project:requests:request_order';
    const windowStartMs = (await store.now()) - REQUEST_WINDOW_MS;
    await redis.runCommand('LSET', order, '0', `${windowStartMs - 1} ["old"]`);
    await redis.runCommand('LSET', order, '1', `${windowStartMs + HOUR_MS} ["recent"]`);
    await store.commit([request('new')]);
    const outcomes = await store.commit([request('recent'), request('old'), request('new')]);
    expect(kindsOf(outcomes)).toEqual(['replay', 'committed', 'replay']);
  });

  it('keep the time of a tenant from decreasing when the database’s clock is set back', async () => {
    const store = await redis.open();
    const aheadMs = (await store.now()) + HOUR_MS;
    await redis.runCommand('HSET', 'genesis_fleet:{ahead}', 'now_ms', String(aheadMs));
    const projectKey = { tenant_id: 'ahead', project_id: 'p' };
    const permits = [{ scope: 'work', member: 'm', until_ms: aheadMs }];
    const [outcome] = await store.commit([transactionOf(projectKey, { permits })]);
    expect(outcome?.now_ms).toBe(aheadMs);
    expect(await store.countPermits('ahead', 'work')).toBe(0);
    expect(await store.now()).toBeGreaterThanOrEqual(aheadMs);
  });

  it('store blobs of every size up to the limit', async () => {
    const { blobs } = await redis.open();
    for (const size of [0, 1, 1 << 20, (1 << 20) * 2 + 17]) {
      const bytes = Buffer.alloc(size, 'blob\u0000\u00ff');
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      expect([await blobs.size('t', sha256), await blobs.get('t', sha256)]).toEqual([null, null]);
      await blobs.put('t', sha256, bytes);
      await blobs.put('t', sha256, bytes);
      expect(await blobs.size('t', sha256)).toBe(size);
      expect(bytes.equals((await blobs.get('t', sha256)) ?? Buffer.from('none'))).toBe(true);
      expect(await blobs.get('other', sha256)).toBeNull();
    }
    await expect(blobs.put('t', '../x', Buffer.from(''))).rejects.toThrow(/SHA-256/);
    await expect(blobs.put('t', 'a'.repeat(64), new Uint8Array(REDIS_BLOB_BYTES_MAX + 1))).rejects.toThrow(
      /at most/,
    );
    expect(await redis.runCommand('KEYS', '*draft*')).toEqual([]);
  });
}

function describeNode(redis: RedisHarness): void {
  it('keeps all keys of a script in one hash slot', async () => {
    await redis.runCommand('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    while (!(await redis.runCommand<string>('CLUSTER', 'INFO')).includes('cluster_state:ok')) await pause(50);
    const store = await redis.open();
    await commitSamples(store);
    expect(await foundPositions(store, P, { session_id: 's1' })).toEqual([2]);
    const keys = await redis.runCommand<string[]>('KEYS', 'genesis_fleet:{t}*');
    const hashSlots = await Promise.all(keys.map((key) => redis.runCommand('CLUSTER', 'KEYSLOT', key)));
    expect(new Set(hashSlots).size).toBe(1);
  });
}

/** One of everything, for two tenants. */
async function commitSamples(store: Store): Promise<void> {
  const transactions = [P, { ...P, tenant_id: 'u' }].map((projectKey) =>
    transactionOf(projectKey, {
      swaps: [swapOf(projectKey, '~filled', 0)],
      loose_events: [eventOf(projectKey, { session_id: 's1' })],
      requests: [{ key: 'filled', digest: 'd', keep: true }],
      permits: [{ scope: 'work', member: 'm', until_ms: Number.POSITIVE_INFINITY }],
      changes_rules: true,
    }),
  );
  expect(kindsOf(await store.commit(transactions))).toEqual(['committed', 'committed']);
}

async function foundPositions(store: Store, projectKey: ProjectKey, filter: object): Promise<number[]> {
  const events = await store.events(projectKey, { after: 0, limit: 100, ...filter });
  return events.map((event) => event.position);
}

async function bytesSent(redis: RedisHarness): Promise<number> {
  const stats = await redis.runCommand<string>('INFO', 'stats');
  return Number(/total_net_output_bytes:(\d+)/.exec(stats)?.[1]);
}

/** The reads of hashes and lists, in scripts too. */
async function readCalls(redis: RedisHarness): Promise<number> {
  const stats = await redis.runCommand<string>('INFO', 'commandstats');
  const calls = [...stats.matchAll(/cmdstat_(?:hget|hmget|lindex|lrange|llen):calls=(\d+)/g)];
  return calls.reduce((sum, [, count]) => sum + Number(count), 0);
}
