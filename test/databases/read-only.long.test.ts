import { randomUUID } from 'node:crypto';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import pg from 'pg';
import { createClient } from 'redis';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { runGen } from '../../src/cli/testing/terminal.js';
import { isProblem } from '../../src/coordinator/index.js';
import { startOwnMysql } from '../../src/stores/mysql/testing.js';
import { startOwnPostgres } from '../../src/stores/postgres/testing.js';
import { startOwnRedis } from '../../src/stores/redis/testing.js';
import { requireDatabase } from '../../src/stores/testing/database.js';
import { onDatabase } from '../../src/stores/testing/on-database.js';
import { migrate } from '../../src/stores/testing/shared-database.js';
import { planOf, unwrap } from '../support/coordinator-harness.js';
import { TcpSwitch } from '../support/tcp-switch.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { DatabaseFleet } from './fleet.js';

const TASKS = ['A-001-a', 'A-002-b', 'A-003-c'];

/** `gen up` and `gen migrate` give the reason in one sentence each and exit with 1. */
async function expectRefused(store: string, sentence: RegExp): Promise<void> {
  const cwd = await temporaryFolder();
  for (const command of [['up', '--port', '0'], ['migrate']]) {
    const { code, out, err } = await runGen({ cwd }, ...command, '--store', store);
    expect([code, out], `${command[0]}: ${err}`).toEqual([1, '']);
    expect(err).toMatch(/^[A-Z][^\n]+([.?]|URL)\n$/);
    expect(err).toMatch(sentence);
  }
}

const claim = (fleet: DatabaseFleet, task_id: string) =>
  fleet.coordinatorAt(0).claims.claimTask(fleet.projectKey, { task_id, agent_id: 'a', session_id: 's-a' });

async function expectUnavailable(fleet: DatabaseFleet, taskId: string): Promise<void> {
  const reply = await claim(fleet, taskId);
  expect(isProblem(reply) && reply.problem, JSON.stringify(reply)).toBe('UNAVAILABLE');
}

/** Points the address at another server and lets the store notice, so that everything from here on goes there. */
async function redirect(proxy: TcpSwitch, url: string, { store }: DatabaseFleet): Promise<void> {
  proxy.pointTo(url);
  for (let tries = 0; tries < 3; tries += 1) await store.now().catch(() => {});
}

/** Retries while the reply is UNAVAILABLE, then expects a grant. */
async function expectGranted(fleet: DatabaseFleet, taskId: string): Promise<void> {
  for (;;) {
    const reply = await claim(fleet, taskId);
    if (isProblem(reply) && reply.problem === 'UNAVAILABLE') continue;
    expect(unwrap(reply).success).toBe(true);
    return;
  }
}

await onDatabase(
  'postgres',
  () => startOwnPostgres(),
  (primary) => {
    afterAll(() => primary.stop());

    test('a PostgreSQL standby is refused, and a coordinator that reaches one waits for its promotion', async () => {
      await migrate(primary.url);
      const standby = await primary.startReplica();
      onTestFinished(() => standby.stop());
      const primaryClient = await connectClient(primary.url);
      const standbyClient = await connectClient(standby.url);
      await expectRefused(standby.url, /is a read-only replica\. Use the URL of the primary/);
      const elsewhere = `${standby.url}?namespace=n${randomUUID().slice(0, 8)}`;
      await expectRefused(elsewhere, /is a read-only replica/);

      const proxy = await TcpSwitch.to(primary.url);
      const fleet = await DatabaseFleet.open(proxy.url, 1);
      await fleet.plan(planOf(...TASKS));
      await expectGranted(fleet, TASKS[0]!);
      const [{ lsn }] = (await primaryClient.query('SELECT pg_current_wal_lsn() AS lsn')).rows;
      const caughtUp = `SELECT pg_last_wal_replay_lsn() >= '${lsn}'::pg_lsn AS done`;
      while (!(await standbyClient.query(caughtUp)).rows[0].done);
      await redirect(proxy, standby.url, fleet);
      await expectUnavailable(fleet, TASKS[1]!);
      const position = (await fleet.events()).length;
      await expectUnavailable(fleet, TASKS[1]!);
      expect(await fleet.events()).toHaveLength(position);
      await standbyClient.query('SELECT pg_promote()');
      await expectGranted(fleet, TASKS[1]!);
    });
  },
);

async function connectClient(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  client.on('error', () => {});
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

await onDatabase('mysql', startOwnMysql, ({ url, stop }) => {
  afterAll(stop);
  const query = async (sql: string) => {
    const connection = await createConnection({ uri: url.replace('/genesis_fleet', '') });
    const [rows] = await connection.query<RowDataPacket[]>(sql);
    await connection.end();
    return rows;
  };

  test('a read-only MySQL server is refused, also for a user who could still write to it', async () => {
    await migrate(url);
    await query("CREATE USER app IDENTIFIED BY 'of-it'");
    await query('GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE ON genesis_fleet.* TO app');
    const app = new URL(url);
    [app.username, app.password] = ['app', 'of-it'];
    const fleet = await DatabaseFleet.open(app.href, 1);
    await fleet.plan(planOf(...TASKS));
    await expectGranted(fleet, TASKS[0]!);
    await query('SET GLOBAL read_only = 1');
    await expectRefused(url, /read-only/);
    await expectRefused(app.href, /read-only/);
    await expectRefused(url.replace('genesis_fleet', 'elsewhere'), /read-only|gen migrate/);
    expect(await query("SHOW DATABASES LIKE 'elsewhere'")).toEqual([]);
    const position = (await fleet.events()).length;
    await expectUnavailable(fleet, TASKS[1]!);
    await expectUnavailable(fleet, TASKS[1]!);
    expect(await fleet.events()).toHaveLength(position);
    await query('SET GLOBAL read_only = 0');
    await expectGranted(fleet, TASKS[1]!);
  });
});

await onDatabase('redis', startOwnRedis, ({ url, stop }) => {
  afterAll(stop);

  test('a Redis replica is refused, and a coordinator that reaches one waits for the primary', async () => {
    await migrate(url);
    const replica = requireDatabase(await startOwnRedis());
    onTestFinished(replica.stop);
    await replicate(replica.url, url);
    await expectRefused(replica.url, /read-only replica\. Connect to its primary/);
    await expectRefused(`${replica.url}?namespace=elsewhere`, /read-only replica/);

    const proxy = await TcpSwitch.to(url);
    const fleet = await DatabaseFleet.open(proxy.url, 1);
    await fleet.plan(planOf(...TASKS));
    await expectGranted(fleet, TASKS[0]!);
    await redirect(proxy, replica.url, fleet);
    await expectUnavailable(fleet, TASKS[1]!);
    await expectUnavailable(fleet, TASKS[1]!);
    await redirect(proxy, url, fleet);
    await expectGranted(fleet, TASKS[1]!);
  });
});

async function replicate(replica: string, primary: string): Promise<void> {
  const { hostname, port } = new URL(primary);
  const client = createClient({ url: replica });
  await client.connect();
  await client.sendCommand(['REPLICAOF', hostname, port]);
  while (!((await client.sendCommand(['INFO', 'replication'])) as string).includes('master_link_status:up'));
  client.destroy();
}
