import { createHash } from 'node:crypto';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type EventEnvelope, msOf } from '../../core/events/envelope.js';
import { eventOf, kindsOf, range, swapOf, transactionOf } from '../conformance/fixture.js';
import { openMemoryStore } from '../memory/memory-store.js';
import type { CommitOutcome, EventQuery, Permit, ProjectKey, Store, Transaction } from '../store.js';
import { StoreRefused } from '../store.js';
import { onSharedDatabase } from '../testing/shared-database.js';
import { openMysqlMigrator, openMysqlStore } from './mysql-store.js';
import { encodeName } from './name-encoding.js';
import type { MysqlOptions } from './options.js';
import { databaseStatements, MIGRATIONS } from './schema.js';
import { newNamespace } from './testing/harness.js';
import { optionsWithLongTimeouts } from './testing.js';

const HOUR_MS = 3_600_000;
const TENANT = 'acme';
const PROJECTS = ['one', 'two', 'ünicode'].map(
  (project_id): ProjectKey => ({ tenant_id: TENANT, project_id }),
);
const BLOB = Buffer.from('a large result');
const SHA256 = createHash('sha256').update(BLOB).digest('hex');
const QUERIES: Partial<EventQuery>[] = [
  {},
  { types: ['even'] },
  { subject: '~s1' },
  { task_id: '~s1' },
  { task_id: 'T-1' },
  { feature_id: 'F-1' },
  { edge: 'design_code' },
  { agent_id: 'agent-1' },
  { session_id: 's1' },
  { since: '2020-01-01T00:00:00.000Z' },
];

await onSharedDatabase('mysql', ({ url }) => {
  describe('the migration of a mysql store of version 1', () =>
    describeMigration(optionsWithLongTimeouts(url)));
});

function describeMigration(baseOptions: MysqlOptions): void {
  it.each([
    ['keeps what every method returns', false],
    ['is repeated after an interruption', true],
  ])('%s', async (_, isInterrupted) => {
    const options = { ...baseOptions, namespace: newNamespace() };
    const oldStore = await OldStore.create(options);
    const memory = openMemoryStore();
    const nowMs = await memory.now();
    for (const projectKey of PROJECTS) {
      const transactions = transactionsOf(projectKey, nowMs);
      expect(new Set(kindsOf(await memory.commit(transactions)))).toEqual(new Set(['committed']));
      await redactFirst(memory, projectKey);
      await oldStore.fill(memory, projectKey, transactions, nowMs);
    }
    const refusal = await openMysqlStore(options).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(StoreRefused);
    expect((refusal as Error).message).toMatch(/has version 1, and this program needs 2.*gen migrate/);
    if (isInterrupted) await oldStore.runQuery(MIGRATIONS[1]?.statements.slice(0, -5) ?? []);
    const migrator = await openMysqlMigrator(options);
    expect((await migrator.up()).map(({ version }) => version)).toEqual([2]);
    await migrator.close();
    const store = await openMysqlStore(options);
    onTestFinished(() => store.close());
    await expectSame(store, memory, nowMs);
    expect(await store.meta()).toEqual({ incarnation: 3, secret: 'secret-1' });
    expect(Buffer.from((await store.blobs.get(TENANT, SHA256)) as Uint8Array)).toEqual(BLOB);
    const tables = await oldStore.runQuery(['SHOW TABLES']);
    expect(tables.map((row) => Object.values(row)[0]).sort()).toEqual(
      'batch blobs event event_name event_time head loose_event meta migrations permit project request scope'.split(
        ' ',
      ),
    );
  });
}

/** Claims, one of which has ended, sessions, requests, loose events, and changed rules. */
function transactionsOf(projectKey: ProjectKey, nowMs: number): Transaction[] {
  const claim = (n: number, until_ms: number): Permit[] => [
    { scope: 'claims', member: `~s${n}`, until_ms, on_head: true },
    { scope: 'sessions', member: `session-${n}`, until_ms: nowMs + HOUR_MS },
  ];
  const loose = range(1, 600).map((n) =>
    eventOf(projectKey, {
      event_id: `loose-${n}`,
      event_type: n % 2 === 0 ? 'even' : 'odd',
      ...(n % 3 === 0 ? { subject: '~s1', task_id: '~s1', session_id: 's1' } : {}),
      ...(n % 100 === 0 ? { task_id: 'T-1', feature_id: 'F-1', edge: 'design_code' } : {}),
      ...(n === 7 ? { timestamp: 'no time' } : {}),
    }),
  );
  return [
    ...range(1, 5).map((n) =>
      transactionOf(projectKey, {
        swaps: [swapOf(projectKey, `~s${n}`, 0, n)],
        requests: [{ key: `k${n}`, digest: 'd', keep: true, ...(n === 2 ? { reply: { n } } : {}) }],
        permits: claim(n, n === 3 ? 1 : nowMs + HOUR_MS),
      }),
    ),
    transactionOf(projectKey, { loose_events: loose }),
    transactionOf(projectKey, { changes_rules: true }),
  ];
}

async function redactFirst(store: Store, projectKey: ProjectKey): Promise<void> {
  const [first] = await store.events(projectKey, { after: 0, limit: 1 });
  await store.redact(projectKey, [{ ...(first as EventEnvelope), payload: {} }]);
}

async function expectSame(store: Store, memory: Store, nowMs: number): Promise<void> {
  expect(await store.projects(TENANT)).toEqual(await memory.projects(TENANT));
  for (const scope of ['claims', 'sessions'])
    expect(await store.countPermits(TENANT, scope)).toBe(await memory.countPermits(TENANT, scope));
  expect(await store.dueProjects?.(9)).toHaveLength(PROJECTS.length);
  for (const projectKey of PROJECTS) {
    expect(await store.project(projectKey)).toEqual(await memory.project(projectKey));
    const page = { after: null, limit: 100 };
    expect(await store.scanHeads(projectKey, page)).toEqual(await memory.scanHeads(projectKey, page));
    expect(await store.heads(projectKey, ['~s5', '~none'])).toEqual(
      await memory.heads(projectKey, ['~s5', '~none']),
    );
    for (const query of QUERIES) {
      const all = { after: 0, limit: 1000, ...query };
      expect(await store.events(projectKey, all)).toEqual(await memory.events(projectKey, all));
    }
    // The store has the requests and loose events, and continues at the next position.
    const repeated = transactionsOf(projectKey, nowMs);
    const nextTransaction = transactionOf(projectKey, {
      swaps: [swapOf(projectKey, '~s1', 1)],
      permits: [{ scope: 'claims', member: '~s1', until_ms: null, on_head: true }],
    });
    const batch = [...repeated.slice(0, 6), nextTransaction];
    const expected = withoutTimes(await memory.commit(batch));
    expect(withoutTimes(await store.commit(batch))).toEqual(expected);
    expect(await store.countPermits(TENANT, 'claims')).toBe(await memory.countPermits(TENANT, 'claims'));
  }
}

/** Omits the times, which differ. */
const withoutTimes = (outcomes: readonly CommitOutcome[]): unknown[] =>
  outcomes.map((outcome) => {
    if (outcome.kind !== 'replay') return { ...outcome, now_ms: 0 };
    const { key, digest, reply, positions } = outcome.request;
    return { kind: outcome.kind, key, digest, reply, positions };
  });

/** A database of version 1, filled as the program of that version would have filled it. */
class OldStore {
  static async create(options: MysqlOptions): Promise<OldStore> {
    const { namespace } = options;
    const store = new OldStore(options);
    await store.runQuery([...databaseStatements(namespace), ...(MIGRATIONS[0]?.statements ?? [])]);
    await store.runQuery([
      "INSERT INTO migrations VALUES (1, 'old')",
      "INSERT INTO meta VALUES (1, 3, 'secret-1')",
    ]);
    await store.runQuery(
      ['INSERT INTO blobs VALUES (?)'],
      [[encodeName(TENANT), Buffer.from(SHA256, 'hex'), 0, BLOB]],
    );
    onTestFinished(async () => void (await store.runQuery([`DROP DATABASE ${namespace}`])));
    return store;
  }

  private constructor(private readonly options: MysqlOptions) {}

  async runQuery(statements: readonly string[], values: unknown[] = []): Promise<RowDataPacket[]> {
    const { host, port, user, password, namespace } = this.options;
    const connection = await createConnection({ host, port, user, password, charset: 'utf8mb4_bin' });
    try {
      await connection.query(`CREATE DATABASE IF NOT EXISTS ${namespace}`);
      await connection.query(`USE ${namespace}`);
      let rows: RowDataPacket[] = [];
      for (const statement of statements) [rows] = await connection.query<RowDataPacket[]>(statement, values);
      return rows;
    } finally {
      await connection.end();
    }
  }

  async fill(
    memory: Store,
    projectKey: ProjectKey,
    transactions: readonly Transaction[],
    nowMs: number,
  ): Promise<void> {
    const key = [encodeName(projectKey.tenant_id), encodeName(projectKey.project_id)];
    const { position, rules_seq } = (await memory.project(projectKey)) as {
      position: number;
      rules_seq: number;
    };
    await this.insertRows('projects', [[...key, position, rules_seq, nowMs, 5, 1]]);
    const heads = await memory.scanHeads(projectKey, { after: null, limit: 100 });
    await this.insertRows(
      'heads',
      heads.map((head) => [...key, head.subject, head.seq, JSON.stringify(head)]),
    );
    const events = await memory.events(projectKey, { after: 0, limit: 1000 });
    await this.insertRows(
      'events',
      events.map((event) => [...key, ...eventRow(event)]),
    );
    await this.insertRows(
      'notes',
      transactions.flatMap((transaction) =>
        transaction.loose_events.map(({ event_id }) => [...key, event_id]),
      ),
    );
    let first = 1;
    const requests = transactions.flatMap(({ swaps, requests: [request] }, index) => {
      const count = swaps.reduce((sum, swap) => sum + swap.events.length, 0);
      const reply = request?.reply === undefined ? null : JSON.stringify(request.reply);
      const row = [...key, request?.key, request?.digest, reply, first, count, index + 1, nowMs];
      first += count;
      return request === undefined ? [] : [row];
    });
    await this.insertRows('requests', requests);
    const permits = transactions.flatMap((transaction) => transaction.permits);
    await this.insertRows(
      'scopes',
      ['claims', 'sessions'].map((scope) => [key[0], scope, 15, 0]),
      'REPLACE',
    );
    await this.insertRows(
      'places',
      permits.map(({ scope, member, until_ms }) => [key[0], scope, key[1], member, until_ms]),
    );
  }

  private async insertRows(table: string, rows: readonly unknown[][], verb = 'INSERT'): Promise<void> {
    await this.runQuery([`${verb} INTO ${table} VALUES ?`], [rows]);
  }
}

function eventRow({ position, ...event }: EventEnvelope): unknown[] {
  const { event_type, subject, task_id, feature_id, edge, agent_id, session_id, timestamp } = event;
  const names = [subject, task_id, feature_id, edge, agent_id, session_id].map((name) => name ?? null);
  const atMs = msOf(timestamp);
  return [position, event_type, ...names, Number.isNaN(atMs) ? null : atMs, JSON.stringify(event)];
}
