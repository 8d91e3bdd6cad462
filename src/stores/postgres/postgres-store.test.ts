import { createHash, randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isoTime } from '../../core/events/envelope.js';
import { eventOf, kindsOf, range, swapOf, swapWith, transactionOf } from '../conformance/fixture.js';
import { eventMatcher } from '../event-matcher.js';
import { type EventQuery, REQUEST_WINDOW_MS } from '../store.js';
import { onSharedDatabase } from '../testing/shared-database.js';
import { eventStatement } from './events.js';
import type { PostgresOptions } from './options.js';
import { openPostgresStore } from './postgres-store.js';
import { asUser, uniqueName } from './testing/harness.js';
import { migrateNamespace } from './testing.js';

await onSharedDatabase('postgres', ({ url }) => {
  describe('tenants of a postgres store', () => describeTenants(url));
  describe('events of a postgres store', () => describeIndexes(url));
  describe('requests of a postgres store', () => describeForgetting(url));
});

function describeTenants(url: string): void {
  const acme = { tenant_id: 'acme', project_id: 'p' };

  /** A login as described in docs/postgres.md. */
  const createApplicationUser = async (name: string): Promise<PostgresOptions> => {
    const namespace = uniqueName(name);
    const options = await migrateNamespace(url, namespace);
    const user = `${namespace}_app`;
    await (await asUser(url)).query(
      `CREATE ROLE ${user} LOGIN PASSWORD 'app' IN ROLE ${namespace}_write, ${namespace}_read`,
    );
    return { ...options, user, password: 'app' };
  };

  it('are served by a login that owns nothing', async () => {
    const store = await openPostgresStore(await createApplicationUser('served'));
    onTestFinished(() => store.close());
    await store.commit([transactionOf(acme, { swaps: [swapOf(acme, '~a', 0)] })]);
    expect(await store.heads(acme, ['~a'])).toMatchObject([{ seq: 1 }]);
    expect((await store.meta()).incarnation).toBe(1);
  });

  it('are hidden from a login that names none or another, and their data changes only through functions', async () => {
    const options = await createApplicationUser('attacked');
    const store = await openPostgresStore(options);
    onTestFinished(() => store.close());
    await store.commit([transactionOf(acme, { swaps: [swapOf(acme, '~a', 0)] })]);
    await store.blobs.put('acme', 'ab', Buffer.from('x'));
    const [event] = await store.events(acme, { after: 0, limit: 1 });
    const eventType = String(event?.event_type);
    const attacker = await asUser(options);
    for (const tenant of ['', 'other']) {
      await attacker.query("SELECT set_config('genesis.tenant', $1, false)", [tenant]);
      await attacker.query("SELECT set_config('genesis.project', 'p', false)");
      for (const table of ['project', 'head', 'event', 'blob']) {
        expect((await attacker.query(`SELECT * FROM ${options.namespace}.${table}`)).rows).toEqual([]);
      }
      const named = `events_named('acme', 'p', 0, NULL, 9, 5, '{${eventType}}'${', NULL'.repeat(9)})`;
      expect((await attacker.query(`SELECT * FROM ${options.namespace}.${named}`)).rows).toEqual([]);
    }
    for (const attempt of [
      `SELECT * FROM ${options.namespace}.request`,
      `SELECT * FROM ${options.namespace}.batch`,
      `SELECT * FROM ${options.namespace}.permit`,
      `SELECT * FROM ${options.namespace}.scope`,
      `SELECT * FROM ${options.namespace}.event_names`,

      `UPDATE ${options.namespace}.head SET body = '{}'`,
      `DELETE FROM ${options.namespace}.event`,
      `INSERT INTO ${options.namespace}.head (project_no, subject, seq, body) VALUES (1, '~b', 1, '{}')`,
      `INSERT INTO ${options.namespace}.blob VALUES ('acme', 'cd', '')`,
      `SELECT ${options.namespace}.forget(NULL, NULL, 0)`,
      `ALTER TABLE ${options.namespace}.head DISABLE ROW LEVEL SECURITY`,
      `SET genesis.commit = 'on'; DELETE FROM ${options.namespace}.head`,
    ]) {
      await expect(attacker.query(attempt), attempt).rejects.toMatchObject({ code: '42501' });
    }
  });

  it('of two namespaces are isolated', async () => {
    const [one, two] = [
      await createApplicationUser('level_two_a'),
      await createApplicationUser('level_two_b'),
    ];
    const stores = [await openPostgresStore(one), await openPostgresStore(two)];
    onTestFinished(async () => {
      await Promise.all(stores.map((store) => store.close()));
    });
    await stores[0]?.commit([transactionOf(acme, { swaps: [swapOf(acme, '~a', 0)] })]);
    expect(await stores[1]?.project(acme)).toBeNull();
    const attacker = await asUser(one);
    await expect(attacker.query(`SELECT * FROM ${two.namespace}.head`)).rejects.toMatchObject({
      code: '42501',
    });
  });

  it('have separate blobs', async () => {
    const store = await openPostgresStore(await createApplicationUser('blobs'));
    onTestFinished(() => store.close());
    const bytes = Buffer.from([0, 1, 255, 10]);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    await store.blobs.put('acme', sha256, bytes);
    await store.blobs.put('acme', sha256, bytes);
    expect(await store.blobs.get('acme', sha256)).toEqual(bytes);
    expect(await store.blobs.size('acme', sha256)).toBe(4);
    expect(await store.blobs.get('other', sha256)).toBeNull();
    expect(await store.blobs.size('other', sha256)).toBeNull();
  });
}

const FILTERS: [Partial<EventQuery>, string][] = [
  [{}, 'event_by_position'],
  [{ types: ['type-7'] }, 'event_by_name'],
  [{ types: ['type-7', 'type-8'] }, 'event_by_name'],
  [{ subject: '~s7' }, 'event_by_subject'],
  [{ subject: '~s7', types: ['type-7', 'type-8'] }, 'event_by_subject'],
  [{ task_id: 'task-7' }, 'event_by_name'],
  [{ task_id: 'task-7' }, 'event_by_subject'],
  [{ task_id: 'task-7', types: ['type-7', 'type-8'] }, 'event_by_name'],
  [{ feature_id: 'feature-7' }, 'event_by_name'],
  [{ edge: 'edge-7' }, 'event_by_name'],
  [{ agent_id: 'agent-7' }, 'event_by_name'],
  [{ session_id: 'session-7' }, 'event_by_name'],
  [
    { since: isoTime(Date.UTC(2020, 0, 1, 1)), until: isoTime(Date.UTC(2020, 0, 1, 1, 0, 9)) },
    'event_by_time',
  ],
];

function describeIndexes(url: string): void {
  const projectKey = { tenant_id: `t-${randomUUID()}`, project_id: 'p' };
  const eventNumber = (n: number) =>
    eventOf(projectKey, {
      event_type: `type-${n % 50}`,
      subject: `~s${n % 50}`,
      task_id: `task-${n % 50}`,
      feature_id: `feature-${n % 50}`,
      edge: `edge-${n % 50}`,
      agent_id: `agent-${n % 50}`,
      session_id: `session-${n % 50}`,
      timestamp: isoTime(Date.UTC(2020, 0, 1) + n * 1000),
    });

  it('are found by an index for every filter, as the reading role', async () => {
    const options = await migrateNamespace(url, uniqueName('indexed'));
    const store = await openPostgresStore(options);
    onTestFinished(() => store.close());
    await store.commit([transactionOf(projectKey, { loose_events: range(1, 5000).map(eventNumber) })]);
    const client = await asUser(url);
    const plans: string[] = [];
    client.on('notice', ({ message }) => plans.push(message ?? ''));
    await client.query(`VACUUM ANALYZE ${options.namespace}.event, ${options.namespace}.event_names`);
    // Shows the plans of the statements in functions too.
    await client.query("LOAD 'auto_explain'");
    for (const setting of ['log_min_duration = 0', 'log_nested_statements = on'])
      await client.query(`SET auto_explain.${setting}`);
    await client.query('SET client_min_messages = log');
    await client.query('BEGIN');
    await client.query(`SET LOCAL ROLE ${options.namespace}_read`);
    await client.query("SELECT set_config('genesis.tenant', $1, true)", [projectKey.tenant_id]);
    await client.query("SELECT set_config('genesis.project', $1, true)", [projectKey.project_id]);
    for (const [query, index] of FILTERS) {
      plans.length = 0;
      const { text, values } = eventStatement(options.namespace, projectKey, {
        after: 10,
        limit: 20,
        ...query,
      });
      await client.query(text, values);
      // The plan arrives with the next reply.
      await client.query('SELECT 1');
      expect(plans.join('\n'), JSON.stringify(query)).toMatch(new RegExp(`(using|on) ${index}\\b`));
      expect(plans.join('\n')).not.toContain('Seq Scan');
    }
    await client.query('ROLLBACK');
  });

  it('are found by name across the epochs of a long log, whether their commits were simple or not', async () => {
    const options = await migrateNamespace(url, uniqueName('parts'));
    const simple = await openPostgresStore(options);
    const general = await openPostgresStore(options, { usesSimpleCommits: false });
    onTestFinished(async () => {
      await Promise.all([simple.close(), general.close()]);
    });
    const swapEvents = (name: string, seq: number, numbers: readonly number[]) => {
      const events = numbers.map((n, index) => ({ ...eventNumber(n), subject: name, seq: seq + index + 1 }));
      return transactionOf(projectKey, { swaps: [swapWith(name, seq, events)] });
    };
    // An epoch has 65,536 positions (EPOCH_BITS). The first large batch of each store extends over the end of an epoch.
    const client = await asUser(url);
    await simple.commit([swapEvents('~a', 0, [7])]);
    const setPosition = (position: number) =>
      client.query(`UPDATE ${options.namespace}.project SET position = ${position}`);
    await setPosition(65_500);
    await simple.commit([swapEvents('~b', 0, range(1, 1000))]);
    await setPosition(131_000);
    await general.commit([swapEvents('~c', 0, range(1, 1000))]);
    await setPosition(900_000);
    await simple.commit([swapEvents('~d', 0, range(1, 1000))]);
    const all = await simple.events(projectKey, { after: 0, limit: 10_000 });
    expect(all).toHaveLength(3001);
    for (const query of [
      { agent_id: 'agent-7' },
      { types: ['type-7', 'type-9'] },
      { task_id: 'task-7', edge: 'edge-7' },
    ]) {
      const isMatch = eventMatcher({ ...query, after: 0, limit: 1 });
      const expected = all.filter(isMatch).map(({ position }) => position);
      for (const limit of [7, 10_000]) {
        const positions: number[] = [];
        for (let page = [0]; page.length > 0; positions.push(...page)) {
          const events = await simple.events(projectKey, { ...query, after: positions.at(-1) ?? 0, limit });
          page = events.map(({ position }) => position);
        }
        expect(positions, JSON.stringify(query)).toEqual(expected);
      }
    }
  });
}

function describeForgetting(url: string): void {
  it('are forgotten after their window, whether their commits were simple or not', async () => {
    const options = await migrateNamespace(url, uniqueName('forgetting'));
    const client = await asUser(url);
    for (const usesSimpleCommits of [true, false]) {
      const store = await openPostgresStore(options, { usesSimpleCommits });
      const projectKey = { tenant_id: 'acme', project_id: `simple-${usesSimpleCommits}` };
      const commitKeptRequests = async (...keys: string[]) => {
        const requests = keys.map((key) => ({ key, digest: 'd', keep: true }));
        const transactions = requests.map((request) => transactionOf(projectKey, { requests: [request] }));
        return kindsOf(await store.commit(transactions));
      };
      await commitKeptRequests('old-1', 'old-2');
      await client.query(
        `UPDATE ${options.namespace}.kept_requests SET at_ms = at_ms - ${REQUEST_WINDOW_MS + 1}`,
      );
      expect(await commitKeptRequests('old-1', 'new')).toEqual(['replay', 'committed']);
      expect(await commitKeptRequests('old-1', 'old-2', 'new')).toEqual(['committed', 'committed', 'replay']);
      await store.close();
    }
    const { rows } = await client.query(`SELECT requests FROM ${options.namespace}.project`);
    expect(rows).toEqual([{ requests: '3' }, { requests: '3' }]);
  });
}
