import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { databaseOf } from '../src/stores/databases.js';
import { startDynamodb } from '../src/stores/dynamodb/testing.js';
import { startMysql } from '../src/stores/mysql/testing.js';
import { startPostgres } from '../src/stores/postgres/testing.js';
import { startRedis } from '../src/stores/redis/testing.js';
import { claim, latencyCells, submit } from './cycles.js';
import { type BenchHarness, harnessOn, newTempFolder } from './harness.js';
import { type LoadResult, measure } from './load.js';
import { table } from './table.js';

const DATABASES = {
  postgres: startPostgres,
  mysql: startMysql,
  redis: startRedis,
  dynamodb: startDynamodb,
} as const;
type BenchDatabaseName = keyof typeof DATABASES;

const IN_FLIGHT = [1, 64, 1000] as const;
/** The parts of bench:http that run on each database: our server, and the job queues. */
const HTTP_PARTS: Partial<Record<BenchDatabaseName, readonly string[]>> = {
  postgres: ['postgres', 'pg-boss', 'graphile-worker'],
  redis: ['redis', 'bullmq'],
};

/**
 * Measures claims and whole cycles through one coordinator and one project, and compares the server with job
 * queues on the same database.
 */
export async function benchDatabases(selection: string, isQuick: boolean): Promise<void> {
  const names = (Object.keys(DATABASES) as BenchDatabaseName[]).filter(
    (name) => selection === 'all' || selection.split(',').includes(name),
  );
  if (names.length === 0)
    throw new Error(`--stores ${selection}: expected all, or a list of ${Object.keys(DATABASES).join(',')}`);
  const rows: string[][] = [];
  for (const name of names) rows.push(...(await measureDatabase(name, isQuick)));
  console.log('\nCommands in process over one project of a real database, every reply durable\n');
  console.log(table(['operation', 'database', 'in flight', 'per second', 'p50 ms', 'p99 ms'], rows));
  const httpParts = names.flatMap((name) => HTTP_PARTS[name] ?? []);
  if (httpParts.length > 0) await runHttpBench(httpParts, isQuick);
}

async function measureDatabase(name: BenchDatabaseName, isQuick: boolean): Promise<string[][]> {
  const database = await DATABASES[name]();
  if ('missing' in database) return [['not run', name, database.missing, '', '', '']];
  const rows: string[][] = [];
  for (const inFlight of IN_FLIGHT) {
    const harness = await harnessAt(database.url, tasksFor(name, inFlight, isQuick));
    try {
      for (const [operation, measured] of await measureTwoOperations(harness, inFlight)) {
        rows.push([operation, name, String(inFlight), ...latencyCells(measured)]);
      }
    } finally {
      await harness.close();
    }
    process.stderr.write(`  ${name}, ${inFlight} in flight: measured\n`);
  }
  await database.stop();
  return rows;
}

/** Enough tasks for a measurement of a few seconds. */
function tasksFor(name: BenchDatabaseName, inFlight: number, isQuick: boolean): number {
  const countMax = name === 'dynamodb' ? 400 : 20_000;
  return Math.ceil((inFlight === 1 ? countMax / 20 : countMax) / (isQuick ? 4 : 1));
}

async function harnessAt(url: string, tasks: number): Promise<BenchHarness> {
  const database = (await databaseOf(url))!;
  const migrator = await database.migrator(url);
  await migrator.up();
  await migrator.close();
  // Each measurement in a shared database uses its own tenant.
  return harnessOn(await database.open(url), await newTempFolder(), 1, tasks, {
    tenant_id: `t${randomUUID().slice(0, 8)}`,
  });
}

async function measureTwoOperations(
  harness: BenchHarness,
  inFlight: number,
): Promise<[string, LoadResult][]> {
  const half = Math.floor(harness.tasks.length / 2);
  const claims = await measure(half, inFlight, (index) => claim(harness, index));
  const cycles = await measure(half, inFlight, async (index) => {
    await claim(harness, half + index);
    await submit(harness, half + index);
  });
  return [
    ['claim', claims],
    ['claim+submit', cycles],
  ];
}

async function runHttpBench(httpParts: readonly string[], isQuick: boolean): Promise<void> {
  const args = [
    'run',
    '--silent',
    'bench:http',
    '--',
    '--only',
    httpParts.join(','),
    '--seconds',
    isQuick ? '3' : '10',
  ];
  const child = spawn('npm', args, { stdio: 'inherit' });
  await once(child, 'exit');
}
