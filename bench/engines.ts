import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { startDynamodb } from '../src/stores/dynamodb/testing.js';
import { engineOf } from '../src/stores/engines.js';
import { startMysql } from '../src/stores/mysql/testing.js';
import { startPostgres } from '../src/stores/postgres/testing.js';
import { startRedis } from '../src/stores/redis/testing.js';
import { cells, claim, submit } from './cycles.js';
import { type House, houseOn, newRoot } from './house.js';
import { type Measured, measure } from './load.js';
import { table } from './table.js';

const ENGINES = {
  postgres: startPostgres,
  mysql: startMysql,
  redis: startRedis,
  dynamodb: startDynamodb,
} as const;
type EngineName = keyof typeof ENGINES;

const IN_FLIGHT = [1, 64, 1000] as const;
const RIVALS: Partial<Record<EngineName, readonly string[]>> = {
  postgres: ['pg-boss', 'graphile-worker'],
  redis: ['bullmq'],
};

/** Claims and whole cycles through one coordinator and one project, and beside them the engine's own job queues. */
export async function engines(asked: string, quick: boolean): Promise<void> {
  const names = (Object.keys(ENGINES) as EngineName[]).filter(
    (name) => asked === 'all' || asked.split(',').includes(name),
  );
  if (names.length === 0)
    throw new Error(`--stores: expected all, or some of ${Object.keys(ENGINES).join(',')}`);
  const rows: string[][] = [];
  for (const name of names) rows.push(...(await oneEngine(name, quick)));
  console.log('\nCommands in process over one project of a real engine, every reply durable\n');
  console.log(table(['operation', 'engine', 'in flight', 'per second', 'p50 ms', 'p99 ms'], rows));
  const rivals = names.flatMap((name) => RIVALS[name] ?? []);
  if (rivals.length > 0) await besideRivals(rivals, quick);
}

async function oneEngine(name: EngineName, quick: boolean): Promise<string[][]> {
  const engine = await ENGINES[name]();
  if ('missing' in engine) return [['not run', name, engine.missing, '', '', '']];
  const rows: string[][] = [];
  for (const in_flight of IN_FLIGHT) {
    const house = await houseAt(engine.url, tasksFor(name, in_flight, quick));
    try {
      for (const [operation, measured] of await twoOperations(house, in_flight)) {
        rows.push([operation, name, String(in_flight), ...cells(measured)]);
      }
    } finally {
      await house.close();
    }
    process.stderr.write(`  ${name}, ${in_flight} in flight: measured\n`);
  }
  await engine.stop();
  return rows;
}

/** What each takes a few seconds for. */
function tasksFor(name: EngineName, in_flight: number, quick: boolean): number {
  const many = name === 'dynamodb' ? 400 : 20_000;
  return Math.ceil((in_flight === 1 ? many / 20 : many) / (quick ? 4 : 1));
}

async function houseAt(url: string, tasks: number): Promise<House> {
  const engine = (await engineOf(url))!;
  const migrator = await engine.migrator(url);
  await migrator.up();
  await migrator.close();
  // What is measured in turn in one engine has tenants of its own.
  return houseOn(await engine.open(url), await newRoot(), 1, tasks, `t${randomUUID().slice(0, 8)}`);
}

async function twoOperations(house: House, in_flight: number): Promise<[string, Measured][]> {
  const half = Math.floor(house.tasks.length / 2);
  const claims = await measure(half, in_flight, (index) => claim(house, index));
  const cycles = await measure(half, in_flight, async (index) => {
    await claim(house, half + index);
    await submit(house, half + index);
  });
  return [
    ['claim', claims],
    ['claim+submit', cycles],
  ];
}

async function besideRivals(rivals: readonly string[], quick: boolean): Promise<void> {
  const args = [
    'run',
    '--silent',
    'bench:http',
    '--',
    '--only',
    rivals.join(','),
    '--seconds',
    quick ? '3' : '10',
  ];
  const child = spawn('npm', args, { stdio: 'inherit' });
  await once(child, 'exit');
}
