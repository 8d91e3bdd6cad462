import { describe, expect, it } from 'vitest';
import { isoTime, type NewEvent } from '../../core/events/envelope.js';
import { eventOf, range, swapOf, transactionOf } from '../conformance/fixture.js';
import { openMemoryStore } from '../memory/memory-store.js';
import { type EventQuery, type ProjectKey, type Store, StoreRefused, type Transaction } from '../store.js';
import { openRedisMigrator, openRedisStore } from './redis-store.js';
import { aclRules } from './schema.js';
import { onOwnRedis, type RedisHarness } from './testing/harness.js';
import { Version1 } from './testing/version-1.js';

const FOREVER = Number.POSITIVE_INFINITY;
const HOUR_MS = 3_600_000;

await onOwnRedis(undefined, (redis) =>
  describe('the migration of a redis store from version 1', () => describeMigration(redis)),
);

const PROJECTS: readonly ProjectKey[] = [
  { tenant_id: 'acme', project_id: 'a:b' },
  { tenant_id: 'acme', project_id: 'two' },
  { tenant_id: 'gl{o}bex', project_id: 'p' },
];

/** Heads, some of work with a permit, events of every kind, requests, and permits that are not on heads. */
function transactionsOf(project: ProjectKey): Transaction[] {
  const loose = (n: number): Partial<NewEvent> => ({
    event_type: n % 3 === 0 ? 'THIRD' : 'OTHER',
    agent_id: `agent-${n % 5}`,
    timestamp: isoTime(Date.UTC(2020, 0, 1) + n * HOUR_MS),
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
    ...range(1, 2500).map((n) => transactionOf(project, { loose_events: [eventOf(project, loose(n))] })),
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
  { after: 1030, until_position: 1090 },
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

/** The outcomes of transactions that are refused, and of one that takes a permit from a limited scope. */
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

function describeMigration(redis: RedisHarness): void {
  it('leaves every reply the same and removes all keys of version 1, even if interrupted and run three times at once', async () => {
    const expected = openMemoryStore();
    const version1 = new Version1((...args) => redis.command(...args));
    await version1.create();
    for (const project of PROJECTS) {
      const transactions = transactionsOf(project);
      const outcomes = await expected.commit(transactions);
      await version1.fill(project, transactions, outcomes);
      const [event] = await expected.events(project, { after: 60, limit: 1 });
      const redacted = { ...event!, payload: { redacted: true } };
      await expected.redact(project, [redacted]);
      await version1.redact(project, redacted);
    }
    await redis.command('SET', 'genesis_fleet:{acme}:blob:00', '1blob');
    await expect(openRedisStore(redis.options)).rejects.toThrow(
      new StoreRefused(
        'The Genesis Fleet schema in this Redis has version 1, and this program needs 2. Run: gen migrate --store URL',
      ),
    );

    // The first run is interrupted in the first project: the user may not remove keys yet.
    const user = ['ACL', 'SETUSER', 'migrating'];
    await redis.command(
      ...user,
      'on',
      '>secret',
      ...aclRules('genesis_fleet').split(' '),
      '+scan',
      '+hscan',
      '+exists',
    );
    const options = { ...redis.options, username: 'migrating', password: 'secret' };
    const interrupted = await openRedisMigrator(options);
    await expect(interrupted.up()).rejects.toThrow();
    await interrupted.close();
    const left = ['a%3Ab', 'two'].map((name) =>
      redis.command('HLEN', `genesis_fleet:{acme}:p:${name}:events`),
    );
    expect(await Promise.all(left)).toContain(0);
    await redis.command(...user, '+unlink');

    const migrators = await Promise.all(range(1, 3).map(() => openRedisMigrator(options)));
    const taken = await Promise.all(migrators.map((migrator) => migrator.up()));
    expect(taken.flat().map(({ version }) => version)).toEqual([2]);
    await Promise.all(migrators.map((migrator) => migrator.close()));

    const store = await redis.reopen();
    expect(await contentOf(store)).toEqual(await contentOf(expected));
    expect(await outcomesOf(expected)).toMatchObject(await outcomesOf(store));
    expect(await redis.command('GET', 'genesis_fleet:{acme}:blob:00')).toBe('1blob');
    const keys = await redis.command<string[]>('KEYS', '*');
    expect(keys.filter((key) => /}:(p|slots):/.test(key))).toEqual([]);
  });
}
