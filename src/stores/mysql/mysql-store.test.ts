import { createHash, randomUUID } from 'node:crypto';
import { createConnection } from 'mysql2/promise';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventOf, kindsOf, range, swapOf, transactionOf } from '../conformance/fixture.js';
import {
  type CommitOutcome,
  type EventQuery,
  type ProjectKey,
  type Store,
  StoreRefused,
  StoreUnavailable,
} from '../store.js';
import { onSharedEngine } from '../testing/shared-engine.js';
import { selectEvents } from './events.js';
import { type MysqlStore, openMysqlMigrator, openMysqlStore } from './mysql-store.js';
import type { MysqlOptions } from './options.js';
import { SCHEMA_VERSION } from './schema.js';
import { optionsWithoutTimeouts, queryServer } from './testing.js';

const FOREVER = Number.POSITIVE_INFINITY;

await onSharedEngine('mysql', ({ url }) => {
  describe('the mysql store and its server', () => describeStore(optionsWithoutTimeouts(url)));
});

function describeStore(options: MysqlOptions): void {
  const newProject = (project_id = 'p'): ProjectKey => ({ tenant_id: `t-${randomUUID()}`, project_id });
  const newNamespace = (): string => `m_${randomUUID().replaceAll('-', '_')}`;

  async function open(withOptions: MysqlOptions = options): Promise<MysqlStore> {
    const store = await openMysqlStore(withOptions);
    onTestFinished(() => store.close());
    return store;
  }

  const admin = (sql: string, values?: unknown[]) => queryServer(options, sql, values);

  describe('with several coordinators', () => {
    it('loses and doubles no swap, and shows a follower every position once and in order', async () => {
      const project = newProject();
      const stores = await Promise.all(range(1, 4).map(() => open()));
      const follower = new EventFollower(await open(), project);
      const following = follower.run();
      const won = (await Promise.all(stores.map((store, n) => contend(store, project, n)))).flat();
      follower.stopAt(won.length);
      await following;
      expect(follower.positions).toEqual(range(1, won.length));
      expect([...won].sort((a, b) => a - b)).toEqual(range(1, won.length));
      expect(follower.contested_seqs).toEqual(range(1, follower.contested_seqs.length));
    });

    it('never has more places taken than there is room, whichever project takes them', async () => {
      const { tenant_id } = newProject();
      const stores = await Promise.all(range(1, 4).map(() => open()));
      const takes = range(1, 40).map((n) => {
        const project = { tenant_id, project_id: `p${n % 3}` };
        const permits = [{ scope: 'work', member: `m${n}`, until_ms: FOREVER }];
        const transaction = transactionOf(project, {
          loose_events: [eventOf(project, {})],
          permits,
          permit_limits: [{ scope: 'work', max: 7 }],
        });
        return (stores[n % 4] as Store).commit([transaction]);
      });
      const kinds = kindsOf((await Promise.all(takes)).flat());
      expect(kinds.filter((kind) => kind === 'committed')).toHaveLength(7);
      expect(await (stores[0] as Store).countPermits(tenant_id, 'work')).toBe(7);
    });

    it('does not take a commit for in time that waited for a lock beyond it', async () => {
      const project = newProject();
      const store = await open();
      await store.commit([transactionOf(project, { swaps: [swapOf(project, '~a', 0)] })]);
      const { host, port, user, password, namespace } = options;
      const other = await createConnection({ host, port, user, password, database: namespace });
      await other.beginTransaction();
      await other.query('SELECT * FROM projects WHERE tenant_id = ? FOR UPDATE', [project.tenant_id]);
      const not_after_ms = (await store.now()) + 100;
      const waiting = store.commit([
        transactionOf(project, { swaps: [swapOf(project, '~a', 1)], not_after_ms }),
      ]);
      while ((await store.now()) <= not_after_ms);
      await other.rollback();
      await other.end();
      expect(kindsOf(await waiting)).toEqual(['late']);
    });
  });

  it('takes the places of a scope anew when they have run out, however many were taken', async () => {
    const project = newProject();
    const store = await open();
    for (const round of range(1, 3)) {
      const until_ms = (await store.now()) + 30;
      const permits = range(1, 3).map((n) => ({ scope: 'work', member: `m${round}-${n}`, until_ms }));
      const transaction = transactionOf(project, {
        loose_events: [eventOf(project, {})],
        permits,
        permit_limits: [{ scope: 'work', max: 3 }],
      });
      expect(kindsOf(await store.commit([transaction]))).toEqual(['committed']);
      while ((await store.now()) <= until_ms);
    }
    const [left] = await admin('SELECT COUNT(*) AS kept FROM places WHERE tenant_id = ?', [
      project.tenant_id,
    ]);
    expect(left?.kept).toBeLessThanOrEqual(3);
  });

  it('keeps names apart that collations would fold or pad, in the order of their code units', async () => {
    const project = newProject();
    const store = await open();
    const subjects = [
      '~a',
      '~a ',
      '~A',
      '~ä',
      '~世',
      '~\ud83d\ude00',
      '~\ud83d',
      '~\ufffd',
      '~\ue000',
      '~\u0000',
    ];
    const swaps = subjects.map((subject) => swapOf(project, subject, 0));
    await store.commit([transactionOf(project, { swaps })]);
    const heads = await store.scanHeads(project, { after: null, limit: 100 });
    expect(heads.map(({ subject }) => subject)).toEqual([...subjects].sort());
    expect(await store.heads(project, subjects)).toEqual(swaps.map(({ head }) => head));
  });

  describe('answers a filter of events from an index', () => {
    const filters: [string, Partial<EventQuery>][] = [
      ['PRIMARY', {}],
      ['by_event_type', { types: ['A'] }],
      ['by_event_type', { types: ['A', 'B'] }],
      ['by_subject', { subject: '~x' }],
      ['by_task_id', { task_id: 'T' }],
      ['by_feature_id', { feature_id: 'F' }],
      ['by_edge', { edge: 'e' }],
      ['by_agent_id', { agent_id: 'a' }],
      ['by_session_id', { session_id: 's' }],
      ['by_time', { since: '2026-01-01T00:00:00.000Z' }],
      ['by_time', { until: '2026-01-01T00:00:00.000Z' }],
      ['by_agent_id', { agent_id: 'a', types: ['A'], since: '2026-01-01T00:00:00.000Z' }],
    ];
    it.each(filters)('%s: %o', async (index, filter) => {
      const select = selectEvents(newProject(), { after: 0, limit: 100, ...filter });
      const plan = await admin(`EXPLAIN FORMAT = TRADITIONAL ${select?.sql}`, select?.values);
      const used = plan.filter(({ table }) => table === 'events');
      expect(used.length).toBe(filter.types?.length === 2 ? 2 : 1);
      for (const { key, Extra } of used) {
        expect(key).toBe(index);
        if (index !== 'by_time') expect(String(Extra)).not.toContain('filesort');
      }
    });
  });

  describe('is opened', () => {
    const sentence = (withOptions: MysqlOptions): Promise<unknown> =>
      openMysqlStore(withOptions).then(
        () => 'opened',
        (error: unknown) => error,
      );

    it('only where there is a schema, and makes none', async () => {
      const namespace = newNamespace();
      const error = await sentence({ ...options, namespace });
      expect(error).toBeInstanceOf(StoreRefused);
      expect((error as Error).message).toContain('gen migrate --store');
      expect(await admin('SHOW DATABASES LIKE ?', [namespace])).toEqual([]);
    });

    it('only where the schema is not newer than the program', async () => {
      const namespace = newNamespace();
      const migrator = await openMysqlMigrator({ ...options, namespace });
      onTestFinished(async () => {
        await migrator.close();
        await admin(`DROP DATABASE ${namespace}`);
      });
      await migrator.up();
      await admin(`INSERT INTO ${namespace}.migrations VALUES (?, 'later')`, [SCHEMA_VERSION + 1]);
      for (const attempt of [sentence({ ...options, namespace }), migrator.up().catch((error) => error)]) {
        expect(await attempt).toBeInstanceOf(StoreRefused);
        expect(((await attempt) as Error).message).toContain('update genesis-fleet');
      }
    });

    it('only with the right password, which no message shows', async () => {
      const error = await sentence({ ...options, user: 'root', password: 'wrong-pass' });
      expect(error).toBeInstanceOf(StoreRefused);
      expect((error as Error).message).toContain('Check user and password');
      expect(String(error)).not.toContain('wrong-pass');
    });

    it('not where nobody listens: that may change', async () => {
      expect(await sentence({ ...options, port: 1 })).toBeInstanceOf(StoreUnavailable);
    });
  });

  it('is migrated once by ten migrators at a time', async () => {
    const fresh = { ...options, namespace: newNamespace() };
    const migrators = await Promise.all(range(1, 10).map(() => openMysqlMigrator(fresh)));
    expect(await migrators[0]?.status()).toEqual({ found: 0, wanted: SCHEMA_VERSION });
    expect(await migrators[0]?.pending()).toHaveLength(SCHEMA_VERSION);
    const taken = await Promise.all(migrators.map((migrator) => migrator.up()));
    expect(taken.flat()).toHaveLength(SCHEMA_VERSION);
    expect(await migrators[9]?.status()).toEqual({ found: SCHEMA_VERSION, wanted: SCHEMA_VERSION });
    await Promise.all(migrators.map((migrator) => migrator.close()));
    expect((await (await open(fresh)).meta()).incarnation).toBe(1);
    await admin(`DROP DATABASE ${fresh.namespace}`);
  });

  it('keeps blobs of several parts, each tenant its own', async () => {
    const { blobs } = await open();
    const bytes = new Uint8Array(2_500_000).map((_, at) => at % 251);
    for (const content of [bytes, new Uint8Array(0)]) {
      const sha256 = createHash('sha256').update(content).digest('hex');
      const { tenant_id } = newProject();
      expect(await blobs.get(tenant_id, sha256)).toBeNull();
      await blobs.put(tenant_id, sha256, content);
      await blobs.put(tenant_id, sha256, content);
      expect(await blobs.size(tenant_id, sha256)).toBe(content.byteLength);
      expect(Buffer.compare((await blobs.get(tenant_id, sha256)) as Uint8Array, content)).toBe(0);
      expect(await blobs.size(`${tenant_id}-2`, sha256)).toBeNull();
    }
  });
}

/** Competes for one subject and moves its own; returns the reported positions. */
async function contend(store: Store, project: ProjectKey, name: number): Promise<number[]> {
  const reply: number[] = [];
  let seq = 0;
  for (const n of range(1, 25)) {
    const own = transactionOf(project, { swaps: [swapOf(project, `~own${name}`, n - 1)] });
    const contested = transactionOf(project, { swaps: [swapOf(project, '~contested', seq)] });
    const outcomes = await store.commit([own, contested]);
    reply.push(...outcomes.flatMap(positionsOf));
    const [, second] = outcomes;
    seq = second?.kind === 'conflict' ? (second.heads[0]?.head?.seq ?? 0) : seq + 1;
  }
  return reply;
}

const positionsOf = (outcome: CommitOutcome): number[] =>
  outcome.kind === 'committed' ? outcome.positions.filter((position) => position !== null) : [];

/** Reads the feed while others commit. */
class EventFollower {
  readonly positions: number[] = [];
  readonly contested_seqs: number[] = [];
  private lastPosition = Number.POSITIVE_INFINITY;

  constructor(
    private readonly store: Store,
    private readonly project: ProjectKey,
  ) {}

  async run(): Promise<void> {
    while (this.positions.length < this.lastPosition) {
      const events = await this.store.events(this.project, { after: this.positions.at(-1) ?? 0, limit: 7 });
      for (const { position, subject, seq } of events) {
        this.positions.push(position);
        if (subject === '~contested') this.contested_seqs.push(seq as number);
      }
    }
  }

  stopAt(position: number): void {
    this.lastPosition = position;
  }
}
