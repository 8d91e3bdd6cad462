import { randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifyStore } from '../../src/coordinator/audit/verify/verify-store.js';
import { Coordinator } from '../../src/coordinator/index.js';
import type { DatabaseStore } from '../../src/stores/databases.js';
import { openWithLongTimeouts } from '../../src/stores/testing/open-with-long-timeouts.js';
import { migrate, onSharedDatabase } from '../../src/stores/testing/shared-database.js';
import { planOf, unwrap } from '../support/coordinator-harness.js';

/**
 * Who: someone with SQL access: a tenant with its own login, a person with the rights of a database administrator, or
 * anyone who restores an old copy of the database.
 *
 * What they want: to read or change another tenant's work, to rewrite history unnoticed, or to get work granted twice.
 *
 * What stops them: a tenant's login can access only its own schema (PostgreSQL) or database (MySQL), and in PostgreSQL
 * it changes rows only through the commit function. `gen verify URL` replays the events and compares every head with
 * them. After a restore the incarnation is raised: earlier handles are refused, and earlier cursors are 409.
 *
 * Not defended: anyone with write access to the tables can rewrite an event together with its head, or a payload that
 * no head depends on. Databases keep no hash chain, and anyone who can rewrite a row could rewrite that too.
 */

const A = 'A-001-core';
const LOGIN_PASSWORD = 'of-this-test';

/** The differences between the two SQL databases. */
interface Dialect {
  readonly name: 'postgres' | 'mysql';
  /** The URL of a separate schema or database. */
  namespaceUrl(url: string, namespace: string): string;
  /** Runs statements as the user in the URL. */
  runStatements(url: string, ...statements: string[]): Promise<DatabaseRow[]>;
  /** Creates a login for one schema or database, as the docs describe. */
  makeLogin(url: string, namespace: string): Promise<string>;
  /** Statements by which the login of one tenant attacks another tenant's schema or database. */
  attacks(own: string, other: string): readonly string[];
  readonly tables: readonly string[];
  /** SQL expression that changes the agent of an event, where the database stores it. */
  readonly changeAgentSql: string;
  readonly columns: { readonly event: string; readonly head: string };
  /** Condition on an event that grants a claim. */
  readonly grantConditionSql: string;
  /** Selects a copied table for `INSERT`, including numbers that the database would assign. */
  readonly selectCopySql: string;
}
type DatabaseRow = Record<string, unknown>;

const postgres: Dialect = {
  name: 'postgres',
  namespaceUrl: (url, namespace) => `${url}?namespace=${namespace}`,
  async runStatements(url, ...statements) {
    const { default: pg } = await import('pg');
    const client = new pg.Client({ connectionString: url.split('?')[0] });
    await client.connect();
    try {
      let rows: DatabaseRow[] = [];
      for (const statement of statements) rows = (await client.query<DatabaseRow>(statement)).rows;
      return rows;
    } finally {
      await client.end();
    }
  },
  async makeLogin(url, namespace) {
    const login = `${namespace}_app`;
    const roles = `${namespace}_write, ${namespace}_read`;
    await this.runStatements(url, `CREATE ROLE ${login} LOGIN PASSWORD '${LOGIN_PASSWORD}' IN ROLE ${roles}`);
    return withUser(url, login);
  },
  attacks: (own, other) => [
    `SELECT * FROM ${other}.event`,
    `SELECT secret FROM ${other}.meta`,
    `INSERT INTO ${other}.blob VALUES ('globex', 'x', '')`,
    `UPDATE ${other}.head SET body = '{}'`,
    `SELECT ${other}.redact_events('globex', 'shop', '{1}', '{"{}"}')`,
    `SET ROLE ${other}_read`,
    `SET ROLE ${other}_write`,
    'SET ROLE postgres',
    // In its own schema it changes rows only through the commit function, even if it claims to be that function.
    `UPDATE ${own}.event SET body = '{}'`,
    `SET genesis.commit = 'on'; UPDATE ${own}.event SET body = '{}'`,
    `DELETE FROM ${own}.head`,
    `TRUNCATE ${own}.event`,
    `UPDATE ${own}.meta SET incarnation = 0`,
    `CREATE TABLE ${own}.trap (a int)`,
    `ALTER TABLE ${own}.event DISABLE ROW LEVEL SECURITY`,
    `ALTER FUNCTION ${own}.commit_batch SECURITY INVOKER`,
  ],
  tables: [
    ...['project', 'head', 'event', 'loose_event', 'request', 'kept_requests', 'scope', 'permit', 'batch'],
    ...['blob', 'meta'],
  ],
  changeAgentSql: "agent_id = 'mallo'",
  columns: { event: 'body', head: 'body' },
  grantConditionSql: `event_type = 'CLAIM_ACQUIRED'`,
  selectCopySql: 'OVERRIDING SYSTEM VALUE SELECT *',
};

const mysql: Dialect = {
  name: 'mysql',
  namespaceUrl: (url, namespace) => url.replace(/\/genesis_fleet$/, `/${namespace}`),
  async runStatements(url, ...statements) {
    const { createConnection } = await import('mysql2/promise');
    const { hostname: host, port, username, password } = new URL(url);
    const connection = await createConnection({ host, port: Number(port), user: username, password });
    try {
      let rows: DatabaseRow[] = [];
      for (const statement of statements) rows = (await connection.query(statement))[0] as DatabaseRow[];
      return rows;
    } finally {
      await connection.end();
    }
  },
  async makeLogin(url, namespace) {
    const login = `${namespace.slice(0, 20)}_app`;
    // In a GRANT an underscore matches any character, as in LIKE.
    const escaped = namespace.replaceAll('_', '\\_');
    await this.runStatements(
      url,
      `CREATE USER '${login}'@'%' IDENTIFIED BY '${LOGIN_PASSWORD}'`,
      `GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE ON \`${escaped}\`.* TO '${login}'@'%'`,
    );
    return withUser(this.namespaceUrl(url, namespace), login);
  },
  attacks: (own, other) => [
    `USE ${other}`,
    `SELECT * FROM ${other}.event`,
    `SELECT secret FROM ${other}.meta`,
    `INSERT INTO ${other}.blobs VALUES ('globex', '', 0, '')`,
    `UPDATE ${other}.head SET head = '{}'`,
    `DELETE FROM ${other}.event`,
    `CALL ${other}.commit_batch(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)`,
    `CREATE VIEW ${own}.window_to_other AS SELECT * FROM ${other}.event`,
    `DROP TABLE ${own}.event`,
    `DROP PROCEDURE ${own}.commit_batch`,
    `CREATE TABLE ${own}.trap (a int)`,
    `GRANT SELECT ON ${other}.event TO CURRENT_USER`,
    'SELECT * FROM mysql.global_priv',
  ],
  tables: [
    ...['project', 'head', 'event', 'event_name', 'event_time', 'loose_event', 'request', 'scope', 'permit'],
    ...['batch', 'blobs', 'meta'],
  ],
  changeAgentSql: "event = REPLACE(event, 'alpha', 'mallo')",
  columns: { event: 'event', head: 'head' },
  grantConditionSql: `event LIKE '%CLAIM_ACQUIRED%'`,
  selectCopySql: 'SELECT *',
};

function withUser(url: string, user: string): string {
  const other = new URL(url);
  other.username = user;
  other.password = LOGIN_PASSWORD;
  return other.href;
}

/** The databases' error codes for missing privileges; any other error would be a mistake in the statement. */
const isDenied = (error: unknown): boolean => {
  const { code, errno } = error as { code?: string; errno?: number };
  return code === '42501' || [1044, 1045, 1142, 1143, 1227, 1370].includes(errno ?? 0);
};

for (const dialect of [postgres, mysql]) {
  await onSharedDatabase(dialect.name, ({ url }) => {
    const newNamespace = async (): Promise<{ namespace: string; at: string }> => {
      const namespace = `n${randomUUID().slice(0, 8)}_t`;
      const at = dialect.namespaceUrl(url, namespace);
      await migrate(at);
      return { namespace, at };
    };

    describe(`the login of a tenant on ${dialect.name}`, () => {
      it('can do all work of its tenant, and cannot read or write data of another tenant', async () => {
        const [own, other] = [await newNamespace(), await newNamespace()];
        await work(await openCoordinator(other.at), 'globex');
        const before = await readAndClose(await openWithLongTimeouts(other.at), 'globex');
        const login = await dialect.makeLogin(url, own.namespace);
        const loginUrl = dialect.name === 'postgres' ? dialect.namespaceUrl(login, own.namespace) : login;
        await work(await openCoordinator(loginUrl), 'acme');
        for (const attack of dialect.attacks(own.namespace, other.namespace)) {
          const denied = await dialect.runStatements(login, attack).then(() => 'allowed', isDenied);
          expect([attack, denied]).toEqual([attack, true]);
        }
        expect(await readAndClose(await openWithLongTimeouts(other.at), 'globex')).toEqual(before);
      });

      if (dialect.name === 'mysql') {
        it('can access a database with another name only if the GRANT does not escape the underscore', async () => {
          const mine = await newNamespace();
          const lookalike = mine.namespace.replace('_', 'x');
          await dialect.runStatements(
            url,
            `CREATE DATABASE ${lookalike}`,
            `CREATE TABLE ${lookalike}.secrets (a int)`,
          );
          const login = await dialect.makeLogin(url, mine.namespace);
          await expect(dialect.runStatements(login, `SELECT * FROM ${lookalike}.secrets`)).rejects.toSatisfy(
            isDenied,
          );
          const user = new URL(login).username;
          await dialect.runStatements(url, `GRANT SELECT ON \`${mine.namespace}\`.* TO '${user}'@'%'`);
          expect(await dialect.runStatements(login, `SELECT * FROM ${lookalike}.secrets`)).toEqual([]);
        });
      }
    });

    describe(`a row that is changed directly in ${dialect.name}`, () => {
      const { columns, grantConditionSql } = dialect;

      it.each([
        [
          'a head',
          (p: string) => `UPDATE ${p}.head SET ${columns.head} = REPLACE(${columns.head}, 'alpha', 'mallo')`,
        ],
        [
          'an event that a head depends on',
          (p: string) => `UPDATE ${p}.event SET ${dialect.changeAgentSql} WHERE ${grantConditionSql}`,
        ],
        ['an event that was deleted', (p: string) => `DELETE FROM ${p}.event WHERE ${grantConditionSql}`],
        [
          'a head that was deleted',
          (p: string) => `DELETE FROM ${p}.head WHERE ${columns.head} LIKE '%alpha%'`,
        ],
      ])('is detected by gen verify if it is %s', async (_, rewrite) => {
        const { namespace, at } = await newNamespace();
        await work(await openCoordinator(at), 'acme');
        const store = await openWithLongTimeouts(at);
        onTestFinished(() => store.close());
        expect((await verifyShop(store)).breaks).toEqual([]);
        await dialect.runStatements(url, rewrite(namespace));
        expect((await verifyShop(store)).breaks).not.toEqual([]);
      });

      it('is not detected if no head depends on it, because databases keep no hash chain', async () => {
        const { namespace, at } = await newNamespace();
        const coordinator = await openCoordinator(at);
        await work(coordinator, 'acme');
        const handle = { task_id: A, session_id: 's1', generation: 1 };
        unwrap(
          await coordinator.holder.note(
            { tenant_id: 'acme', project_id: 'shop' },
            { ...handle, text: 'first words' },
          ),
        );
        await dialect.runStatements(
          url,
          `UPDATE ${namespace}.event SET ${columns.event} = REPLACE(${columns.event}, 'first words', 'other words')`,
        );
        const store = await openWithLongTimeouts(at);
        onTestFinished(() => store.close());
        expect((await verifyShop(store)).breaks).toEqual([]);
      });
    });

    describe(`a restore of ${dialect.name} from an old copy`, () => {
      it('invalidates cursors and handles from after the copy, once the incarnation is raised', async () => {
        const { namespace, at } = await newNamespace();
        const projectKey = { tenant_id: 'acme', project_id: 'shop' };
        const first = await openCoordinator(at);
        unwrap(await first.plans.put(projectKey, planOf(A)));
        const backup = `${namespace}_copy`;
        await dialect.runStatements(url, `CREATE SCHEMA ${backup}`);
        for (const table of dialect.tables) {
          await dialect.runStatements(
            url,
            `CREATE TABLE ${backup}.${table} AS SELECT * FROM ${namespace}.${table}`,
          );
        }
        const lost = await claimOnce(first, projectKey, 'alpha', 's1');
        const { next } = unwrap(await first.feed.page(projectKey));
        for (const table of dialect.tables) {
          await dialect.runStatements(url, `DELETE FROM ${namespace}.${table}`);
          await dialect.runStatements(
            url,
            `INSERT INTO ${namespace}.${table} ${dialect.selectCopySql} FROM ${backup}.${table}`,
          );
        }
        await dialect.runStatements(url, `UPDATE ${namespace}.meta SET incarnation = incarnation + 1`);
        const second = await openCoordinator(at);
        expect(await second.feed.page(projectKey, { after: next })).toMatchObject({
          problem: 'CURSOR_AHEAD',
        });
        // The same generation is granted to another agent: only the claim id distinguishes the two.
        const granted = await claimOnce(second, projectKey, 'beta', 's1');
        expect(granted.generation).toBe(lost.generation);
        expect(granted.claim_id).not.toBe(lost.claim_id);
        const result = { task_id: A, session_id: 's1', result_data: 1 };
        expect(await second.holder.submitResult(projectKey, { ...result, ...lost })).toMatchObject({
          accepted: false,
        });
        expect(await second.holder.submitResult(projectKey, { ...result, ...granted })).toMatchObject({
          accepted: true,
        });
      });
    });
  });
}

async function openCoordinator(url: string): Promise<Coordinator> {
  const store = await openWithLongTimeouts(url);
  const coordinator = await Coordinator.open({ store, blobs: store.blobs });
  onTestFinished(async () => {
    coordinator.close();
    await store.close();
  });
  return coordinator;
}

/** Creates a plan and a claim. */
async function work(coordinator: Coordinator, tenant_id: string): Promise<void> {
  const projectKey = { tenant_id, project_id: 'shop' };
  unwrap(await coordinator.plans.put(projectKey, planOf(A)));
  await claimOnce(coordinator, projectKey, 'alpha', 's1');
}

async function claimOnce(
  coordinator: Coordinator,
  projectKey: { tenant_id: string; project_id: string },
  agent_id: string,
  session_id: string,
): Promise<{ generation: number; claim_id: string }> {
  const { claim } = unwrap(
    await coordinator.claims.claimTask(projectKey, { task_id: A, agent_id, session_id }),
  );
  if (claim?.id === undefined) throw new Error('The claim was not granted.');
  return { generation: claim.generation, claim_id: claim.id };
}

const verifyShop = (store: DatabaseStore) =>
  verifyStore(store, { tenant_id: 'acme', project_id: 'shop' }, () => {});

/** All events and heads of a tenant's project in a store. */
async function readAndClose(store: DatabaseStore, tenant_id: string): Promise<unknown> {
  const projectKey = { tenant_id, project_id: 'shop' };
  try {
    const events = await store.events(projectKey, { after: 0, limit: 1000 });
    return { events, heads: await store.scanHeads(projectKey, { after: null, limit: 1000 }) };
  } finally {
    await store.close();
  }
}
