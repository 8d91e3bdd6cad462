import { setTimeout as sleep } from 'node:timers/promises';
import { startServer } from '../src/server/server.js';
import { databaseOf } from '../src/stores/databases.js';
import { DATABASE_NAMES, type DatabaseName, startMigrated } from '../src/stores/testing/shared-database.js';
import { table } from './table.js';

const PROJECTS = 10;
const OUTAGE_SECONDS = 30;
/** The median of three windows is reported, because a single window occasionally shows about 300 ms more. */
const WINDOWS = 3;
/** Lets operations that were in flight when the database stopped finish first. */
const SETTLE_SECONDS = 15;

/** Measures the processor time of an idle server with ten loaded projects while its database is stopped. */
export async function benchOutage(selection: string): Promise<void> {
  const names = DATABASE_NAMES.filter((name) => selection === 'all' || selection.split(',').includes(name));
  if (names.length === 0)
    throw new Error(`--outage ${selection}: expected all, or a list of ${DATABASE_NAMES.join(',')}`);
  const rows: string[][] = [];
  for (const name of names) rows.push(await measureDatabase(name));
  console.log(`\nAn idle server with ${PROJECTS} projects, its database stopped for ${OUTAGE_SECONDS} s\n`);
  console.log(table(['database', 'CPU ms', '% of a core', '/readyz'], rows));
}

async function measureDatabase(name: DatabaseName): Promise<string[]> {
  const database = await startMigrated(name);
  if ('missing' in database) return [name, database.missing, '', ''];
  const store = await (await databaseOf(database.url))!.open(database.url);
  const server = await startServer({ store, port: 0 });
  for (let index = 0; index < PROJECTS; index += 1) {
    const tracks = { A: [{ id: 'A-001-work', description: 'work', depends_on: [] }] };
    const url = `${server.url}/api/tenants/acme/projects/p${index}/plan`;
    const reply = await fetch(url, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ tracks }),
    });
    if (!reply.ok) throw new Error(`${reply.status}: ${await reply.text()}`);
  }
  await database.stop();
  await sleep(SETTLE_SECONDS * 1000);
  const usedMs: number[] = [];
  for (let window = 0; window < WINDOWS; window += 1) usedMs.push(await cpuMsOver(OUTAGE_SECONDS));
  const [medianMs = 0] = usedMs.sort((a, b) => a - b).slice(WINDOWS >> 1);
  const ready = await fetch(`${server.url}/readyz`);
  await ready.body?.cancel();
  await server.stop();
  const percent = (medianMs / OUTAGE_SECONDS / 10).toFixed(2);
  return [name, medianMs.toFixed(0), percent, String(ready.status)];
}

async function cpuMsOver(seconds: number): Promise<number> {
  const before = process.cpuUsage();
  await sleep(seconds * 1000);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
