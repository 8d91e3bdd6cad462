import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isoTime } from '../../core/events/envelope.js';
import { eventOf, kindsOf, swapWith, transactionOf } from '../conformance/fixture.js';
import { openMemoryStore } from '../memory/memory-store.js';
import type { CommitOutcome, EventQuery, Permit, ProjectKey, Store, Transaction } from '../store.js';
import { onSharedDatabase } from '../testing/shared-database.js';
import { bodyOf } from './events.js';
import { openPostgresMigrator, openPostgresStore } from './postgres-store.js';
import { asUser, uniqueName } from './testing/harness.js';
import { optionsWithLongTimeouts } from './testing.js';

const HOUR_MS = 3_600_000;
const ENDED_MS = 1;
const PROJECTS: ProjectKey[] = ['acme', 'other'].flatMap((tenant_id) =>
  ['p', 'q'].map((project_id) => ({ tenant_id, project_id })),
);
const QUERIES: Partial<EventQuery>[] = [
  {},
  { types: ['claimed', 'noted'] },
  { subject: 'task-1' },
  { task_id: 'task-1' },
  { task_id: 'parent' },
  { feature_id: 'f' },
  { edge: 'e' },
  { agent_id: 'agent-1' },
  { session_id: 'session-1' },
  { since: isoTime(1000), until: isoTime(2000) },
];

await onSharedDatabase('postgres', ({ url }) => {
  describe('a postgres store of version 2', () => describeMigration(url));
  describe('a postgres store of version 5', () => describeNewIndex(url));
});

function describeMigration(url: string): void {
  it('is refused until it is migrated, and then returns what it returned before', async () => {
    const namespace = uniqueName('migrated');
    const options = optionsWithLongTimeouts(`${url}?namespace=${namespace}`);
    const client = await asUser(url);
    const untilMs = Date.now() + HOUR_MS;
    const memory = openMemoryStore();
    const transactions = PROJECTS.map((projectKey) => transactionsIn(projectKey, untilMs));
    const outcomes = new Map<Transaction, CommitOutcome>();
    for (const transaction of transactions.flat()) {
      const [outcome] = await memory.commit([transaction]);
      outcomes.set(transaction, outcome as CommitOutcome);
    }
    await redactFirst(memory, PROJECTS[0] as ProjectKey);
    const versionTwo = readFileSync(new URL('./testing/version-2.sql', import.meta.url), 'utf8');
    await client.query(versionTwo.replaceAll(/\$\{namespace\}/g, namespace).replace('SET LOCAL', 'SET'));
    await new OldLayout(client).fill(memory, outcomes);
    const secret = (await client.query('SELECT secret FROM meta')).rows[0].secret;

    await expect(openPostgresStore(options)).rejects.toThrow(
      'has version 2, and this program needs 6. Run: gen migrate --store URL',
    );
    const migrator = await openPostgresMigrator(options);
    expect((await migrator.up()).map(({ version }) => version)).toEqual([3, 4, 5, 6]);
    await migrator.close();

    const store = await openPostgresStore(options);
    onTestFinished(() => store.close());
    expect((await store.meta()).secret).toBe(secret);
    expect(await store.blobs.get('acme', 'ab')).toEqual(Buffer.from('bytes'));
    expect(await storeContents(store)).toEqual(await storeContents(memory));
    expect(await store.dueProjects(10)).toEqual(PROJECTS);
    expect(await store.tenantIds()).toEqual(['acme', 'other']);
    const commitAgain = (of: Store) => of.commit(transactions.flat()).then(withoutTimes);
    expect(await commitAgain(store)).toEqual(await commitAgain(memory));
    const released = PROJECTS.map((projectKey) =>
      transactionOf(projectKey, {
        permits: [
          { scope: 'claims', member: 'task-2', until_ms: null, on_head: true },
          { scope: 'claims', member: 'task-1', until_ms: null, on_head: true },
          { scope: 'sessions', member: 'session-1', until_ms: null },
        ],
      }),
    );
    expect(kindsOf(await store.commit(released))).toEqual(kindsOf(await memory.commit(released)));
    expect(await storeContents(store)).toEqual(await storeContents(memory));
    expect(await store.dueProjects(10)).toEqual([]);
    const tables = await client.query('SELECT tablename FROM pg_tables WHERE schemaname = $1', [namespace]);
    expect(
      tables.rows.map(({ tablename }) => tablename).filter((name) => /^old_|slot|note/.test(name)),
    ).toEqual([]);
  });
}

function describeNewIndex(url: string): void {
  it('returns the same events after its migration, and commits to the same heads', async () => {
    const namespace = uniqueName('reindexed');
    const options = optionsWithLongTimeouts(`${url}?namespace=${namespace}`);
    const migrate = async () => {
      const migrator = await openPostgresMigrator(options);
      const steps = await migrator.up();
      await migrator.close();
      return steps.map(({ version }) => version);
    };
    await migrate();
    const transactions = PROJECTS.flatMap((projectKey) => transactionsIn(projectKey, Date.now() + HOUR_MS));
    const [projectKey] = PROJECTS as [ProjectKey];
    const edgeEvents = Array.from({ length: 700 }, (_, n) =>
      eventOf(projectKey, { event_type: 'noted', agent_id: `agent-${n % 90}`, edge: 'late' }),
    );
    const storeBefore = await openPostgresStore(options);
    await storeBefore.commit([...transactions, transactionOf(projectKey, { loose_events: edgeEvents })]);
    const contentsOf = async (store: Store) => ({
      all: await storeContents(store),
      agent: await store.events(projectKey, { after: 0, limit: 50, agent_id: 'agent-7' }),
      edge: await store.events(projectKey, { after: 50, limit: 500, edge: 'late' }),
    });
    const before = await contentsOf(storeBefore);
    expect([before.agent.length, before.edge.length]).toEqual([8, 500]);
    await storeBefore.close();

    const client = await asUser(url);
    const versionFive = readFileSync(new URL('./testing/back-to-version-5.sql', import.meta.url), 'utf8');
    await client.query(versionFive.replaceAll(/\$\{namespace\}/g, namespace));
    expect(await migrate()).toEqual([6]);
    const store = await openPostgresStore(options);
    onTestFinished(() => store.close());
    expect(await contentsOf(store)).toEqual(before);
    const [head] = await store.heads(projectKey, ['task-1']);
    const next = eventOf(projectKey, {
      event_type: 'later',
      subject: 'task-1',
      seq: 2,
      session_id: 'session-9',
    });
    const swaps = [swapWith('task-1', head?.seq ?? 0, [next])];
    expect(kindsOf(await store.commit([transactionOf(projectKey, { swaps })]))).toEqual(['committed']);
    expect(await store.events(projectKey, { after: 0, limit: 5, session_id: 'session-9' })).toHaveLength(1);
  });
}

/** A live claim, an ended one, a session, events with every field, and requests with and without a reply. */
function transactionsIn(projectKey: ProjectKey, untilMs: number): Transaction[] {
  const claimEvent = (subject: string, atMs: number, more: object) =>
    eventOf(projectKey, {
      event_type: 'claimed',
      timestamp: isoTime(atMs),
      subject,
      seq: 1,
      agent_id: 'agent-1',
      session_id: 'session-1',
      payload: { record: { a: 'long text' } },
      ...more,
    });
  const claim = (member: string, until_ms: number): Permit => ({
    scope: 'claims',
    member,
    until_ms,
    on_head: true,
  });
  const {
    event_id,
    seq: _,
    ...loose
  } = claimEvent('task-1', 1500, { event_type: 'noted', feature_id: 'f', edge: 'e' });
  return [
    transactionOf(projectKey, {
      swaps: [swapWith('task-1', 0, [claimEvent('task-1', 1000, { task_id: 'task-1' })])],
      requests: [{ key: 'k1', digest: 'd1', keep: true, reply: { text: 'line\nfeed' } }],
      permits: [claim('task-1', untilMs), { scope: 'sessions', member: 'session-1', until_ms: untilMs }],
    }),
    transactionOf(projectKey, {
      swaps: [
        swapWith('task-2', 0, [claimEvent('task-2', 2000, { task_id: 'parent', agent_id: 'agent-2' })]),
      ],
      requests: [{ key: 'k2', digest: 'd2', keep: true }],
      permits: [claim('task-2', ENDED_MS)],
      changes_rules: true,
    }),
    transactionOf(projectKey, {
      swaps: [swapWith('~record', 0, [claimEvent('~record', 3000, { session_id: undefined })])],
      loose_events: [{ ...loose, event_id }],
    }),
  ];
}

/** As retention does: the payload of the first event loses its fields. */
async function redactFirst(store: Store, projectKey: ProjectKey): Promise<void> {
  const [event] = await store.events(projectKey, { after: 0, limit: 1 });
  if (event !== undefined) await store.redact(projectKey, [{ ...event, payload: {} }]);
}

/** Writes what a store has into the tables of version 2. */
class OldLayout {
  constructor(private readonly client: pg.Client) {}

  async fill(store: Store, outcomes: ReadonlyMap<Transaction, CommitOutcome>): Promise<void> {
    for (const projectKey of PROJECTS) await this.addProject(store, projectKey);
    for (const [transaction, outcome] of outcomes) {
      const { tenant_id, project_id, requests, permits, loose_events } = transaction;
      const { positions } = outcome as CommitOutcome & { kind: 'committed' };
      for (const { key, digest, reply } of requests) {
        const body = JSON.stringify({ digest, reply });
        await this.insertRow('request', [
          tenant_id,
          project_id,
          key,
          Date.now(),
          positions[0],
          positions.length,
          body,
        ]);
      }
      for (const { scope, member, until_ms } of permits) {
        await this.insertRow('slot', [tenant_id, scope, project_id, member, until_ms]);
      }
      for (const { event_id } of loose_events)
        await this.insertRow('note', [tenant_id, project_id, event_id]);
    }
    await this.client.query('INSERT INTO scope SELECT tenant_id, scope, count(*) FROM slot GROUP BY 1, 2');
    await this.insertRow('blob', ['acme', 'ab', Buffer.from('bytes')]);
  }

  private async addProject(store: Store, projectKey: ProjectKey): Promise<void> {
    const { tenant_id, project_id } = projectKey;
    const row = await store.project(projectKey);
    await this.insertRow('project', [
      tenant_id,
      project_id,
      row?.position,
      row?.rules_seq,
      2,
      Date.now(),
      true,
    ]);
    for (const head of await store.scanHeads(projectKey, { after: null, limit: 100 })) {
      await this.insertRow('head', [tenant_id, project_id, head.subject, head.seq, JSON.stringify(head)]);
    }
    for (const event of await store.events(projectKey, { after: 0, limit: 100 })) {
      const { position, timestamp, event_type, subject, task_id, feature_id, edge, agent_id, session_id } =
        event;
      const columns = [event_type, subject, task_id, feature_id, edge, agent_id, session_id];
      await this.insertRow('event', [
        ...[tenant_id, project_id, position, Date.parse(timestamp)],
        ...columns,
        bodyOf(event),
      ]);
    }
  }

  private async insertRow(table: string, values: readonly unknown[]): Promise<void> {
    const parameters = values.map((_, index) => `$${index + 1}`).join();
    await this.client.query(`INSERT INTO ${table} VALUES (${parameters})`, [...values]);
  }
}

async function storeContents(store: Store): Promise<unknown> {
  const projectStates = PROJECTS.map(async (projectKey) => ({
    row: await store.project(projectKey),
    heads: await store.scanHeads(projectKey, { after: null, limit: 100 }),
    two: await store.heads(projectKey, ['task-2', randomUUID()]),
    events: await Promise.all(
      QUERIES.map((query) => store.events(projectKey, { after: 0, limit: 50, ...query })),
    ),
  }));
  const tenantStates = ['acme', 'other'].map(async (tenantId) => ({
    projects: await store.projects(tenantId),
    claims: await store.countPermits(tenantId, 'claims'),
    sessions: await store.countPermits(tenantId, 'sessions'),
  }));
  return { projects: await Promise.all(projectStates), tenants: await Promise.all(tenantStates) };
}

/** Omits what may differ: times, and what is stored beside a request's public fields. */
const withoutTimes = (outcomes: readonly CommitOutcome[]): unknown[] =>
  outcomes.map((outcome) => {
    if (outcome.kind !== 'replay') return { ...outcome, now_ms: 0 };
    const { key, digest, reply, positions } = outcome.request;
    return { kind: outcome.kind, key, digest, reply, positions };
  });
