import { randomUUID } from 'node:crypto';
import { loadavg } from 'node:os';
import { createConnection } from 'mysql2/promise';
import pg from 'pg';
import { createClient } from 'redis';
import { databaseOf } from '../src/stores/databases.js';
import { startMysql } from '../src/stores/mysql/testing.js';
import { startPostgres } from '../src/stores/postgres/testing.js';
import { RedisKeys } from '../src/stores/redis/keys.js';
import { startRedis } from '../src/stores/redis/testing.js';
import type { HeadSwap, ProjectKey, Store } from '../src/stores/store.js';
import { transactionOf } from '../src/stores/transaction.js';
import { median } from './against/statistics.js';
import { childrenOf, startUsageMeter } from './process-usage.js';
import { integerText, table } from './table.js';

const SMALL_PROJECT_HEADS = 1000;
/** SMALL_PROJECT_HEADS is doubled this many times: 1,024,000. */
const DOUBLINGS = 10;
const ROUNDS = 9;
const BATCHES = 40;
const BATCH_CLAIMS = 50;
const NAMESPACE = 'genesis_fleet';

/** Copies every head of a project, appending the letter to each subject. */
type DoubleHeads = (project: ProjectKey, letter: string) => Promise<void>;

const DATABASES = {
  postgres: { start: startPostgres, openFiller: openPostgresFiller },
  mysql: { start: startMysql, openFiller: openMysqlFiller },
  redis: { start: startRedis, openFiller: openRedisFiller },
} as const;
type HeadsDatabaseName = keyof typeof DATABASES;

/**
 * Processor time that a claim costs the database in a project of a thousand heads and in a project of a million.
 * The measurements alternate, so that any other load on the machine affects both.
 */
export async function benchHeads(selection: string): Promise<void> {
  const names = (Object.keys(DATABASES) as HeadsDatabaseName[]).filter(
    (name) => selection === 'all' || selection.split(',').includes(name),
  );
  if (names.length === 0)
    throw new Error(`--heads ${selection}: expected all, or a list of ${Object.keys(DATABASES).join(',')}`);
  const rows: string[][] = [];
  for (const name of names) rows.push(await measureDatabase(name));
  console.log(`\nCPU time of the database per claim, median of ${ROUNDS} alternating rounds\n`);
  console.log(
    table(
      ['database', `${integerText(SMALL_PROJECT_HEADS)} heads`, 'a million heads', 'ratio', 'load'],
      rows,
    ),
  );
}

async function measureDatabase(name: HeadsDatabaseName): Promise<string[]> {
  const database = await DATABASES[name].start();
  if ('missing' in database) return [name, database.missing, '', '', ''];
  const { migrator, open } = (await databaseOf(database.url))!;
  const openedMigrator = await migrator(database.url);
  await openedMigrator.up();
  await openedMigrator.close();
  const store = await open(database.url);
  const { double, close } = await DATABASES[name].openFiller(database.url);
  const largeProject = await newProject(store);
  for (const step of numbersBetween(1, DOUBLINGS)) await double(largeProject, String.fromCharCode(96 + step));
  await close();
  process.stderr.write(`  ${name}: filled\n`);
  const [fewUs, manyUs]: [number[], number[]] = [[], []];
  for (const _ of numbersBetween(1, ROUNDS)) {
    fewUs.push(await measureClaimCpuUs(store, await newProject(store)));
    manyUs.push(await measureClaimCpuUs(store, largeProject));
  }
  await store.close();
  await database.stop();
  const [fewMedianUs, manyMedianUs] = [median(fewUs), median(manyUs)];
  return [
    name,
    `${integerText(fewMedianUs)} µs`,
    `${integerText(manyMedianUs)} µs`,
    (manyMedianUs / fewMedianUs).toFixed(2),
    loadavg()[0]!.toFixed(1),
  ];
}

/** Creates a project with a thousand heads by commits to the store. */
async function newProject(store: Store): Promise<ProjectKey> {
  const project = { tenant_id: `t${randomUUID().slice(0, 8)}`, project_id: 'p' };
  for (const batch of numbersBetween(1, SMALL_PROJECT_HEADS / BATCH_CLAIMS)) {
    await store.commit(
      numbersBetween(1, BATCH_CLAIMS).map((n) => claimTransaction(project, `~${batch}-${n}-`)),
    );
  }
  return project;
}

/** The transaction of a claim: a head with a permit, its event, the permit of its session and a request. */
function claimTransaction(projectKey: ProjectKey, subject: string) {
  const until_ms = Date.now() + 3_600_000;
  return transactionOf(projectKey, {
    swaps: [firstSwap(projectKey, subject)],
    requests: [{ key: randomUUID(), digest: 'd', keep: true }],
    permits: [
      { scope: 'claims', member: subject, until_ms, on_head: true },
      { scope: 'sessions', member: subject, until_ms },
    ],
    permit_limits: [{ scope: 'claims', max: 10_000_000 }],
  });
}

function firstSwap({ tenant_id, project_id }: ProjectKey, subject: string): HeadSwap {
  const event = {
    event_id: randomUUID(),
    event_type: 'TASK_CLAIMED',
    timestamp: new Date().toISOString(),
    tenant_id,
    project_id,
    subject,
    seq: 1,
    agent_id: 'agent',
    session_id: 'session',
    payload: { generation: 1, said: 'x'.repeat(200) },
  };
  const head = { subject, seq: 1, said: 'x'.repeat(400) };
  return { subject, expected_seq: 0, head, events: [event] } as unknown as HeadSwap;
}

/** Returns the database's processor time for one claim, in microseconds. */
async function measureClaimCpuUs(store: Store, projectKey: ProjectKey): Promise<number> {
  // This process has no other children than the database.
  const usageSince = startUsageMeter(childrenOf(process.pid));
  for (const _ of numbersBetween(1, BATCHES)) {
    await store.commit(
      numbersBetween(1, BATCH_CLAIMS).map(() => claimTransaction(projectKey, `~${randomUUID()}`)),
    );
  }
  return ((usageSince()?.cpu_seconds ?? Number.NaN) * 1e6) / (BATCHES * BATCH_CLAIMS);
}

async function openPostgresFiller(url: string): Promise<{ double: DoubleHeads; close(): Promise<void> }> {
  const client = new pg.Client(url);
  await client.connect();
  return {
    double: async ({ tenant_id, project_id }, letter) => {
      await client.query(
        `INSERT INTO ${NAMESPACE}.head (project_no, subject, seq, body)
        SELECT h.project_no, h.subject || $3, h.seq, h.body
        FROM ${NAMESPACE}.head h JOIN ${NAMESPACE}.project p USING (project_no)
        WHERE p.tenant_id = $1 AND p.project_id = $2`,
        [tenant_id, project_id, letter],
      );
    },
    async close() {
      // The maintenance left over from the fill is not part of the cost of a claim.
      for (const statement of [`VACUUM ANALYZE ${NAMESPACE}.head`, 'CHECKPOINT'])
        await client.query(statement);
      await client.end();
    },
  };
}

async function openMysqlFiller(url: string): Promise<{ double: DoubleHeads; close(): Promise<void> }> {
  const connection = await createConnection({ uri: url });
  return {
    double: async ({ tenant_id, project_id }, letter) => {
      await connection.query(
        `INSERT INTO head (project_no, subject, seq, head)
        SELECT h.project_no, CONCAT(h.subject, ?), h.seq, h.head FROM head h JOIN project p USING (project_no)
        WHERE p.tenant_id = ? AND p.project_id = ?`,
        [letter, tenant_id, project_id],
      );
    },
    async close() {
      // Writes the pages of the fill and releases its undo log before anything is measured.
      await connection.query('FLUSH TABLES head FOR EXPORT');
      await connection.query('UNLOCK TABLES');
      await connection.end();
    },
  };
}

const DOUBLE_SCRIPT = `
local all = redis.call('HGETALL', KEYS[1])
for at = 1, #all, 2 do
  redis.call('HSET', KEYS[1], all[at] .. ARGV[1], all[at + 1])
  redis.call('ZADD', KEYS[2], 0, all[at] .. ARGV[1])
  redis.call('HSET', KEYS[3], all[at] .. ARGV[1], redis.call('HGET', KEYS[3], all[at]))
end`;

async function openRedisFiller(url: string): Promise<{ double: DoubleHeads; close(): Promise<void> }> {
  const client = createClient({ url });
  await client.connect();
  const keys = new RedisKeys(NAMESPACE);
  return {
    double: async (project, letter) => {
      const [subjects, marks] = ['subjects', 'marks'].map((name) => `${keys.project(project)}:${name}`);
      await client.sendCommand(['EVAL', DOUBLE_SCRIPT, '3', keys.heads(project), subjects!, marks!, letter]);
    },
    close: async () => client.destroy(),
  };
}

const numbersBetween = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);
