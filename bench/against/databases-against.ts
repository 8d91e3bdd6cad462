import { join } from 'node:path';
import { startOwnMysql } from '../../src/stores/mysql/testing.js';
import { startOwnPostgres } from '../../src/stores/postgres/testing.js';
import { startOwnRedis } from '../../src/stores/redis/testing.js';
import type { MissingDatabase, TestDatabase } from '../../src/stores/testing/database.js';
import { childrenOf } from '../process-usage.js';
import { integerText } from '../table.js';
import { type Build, buildRef, buildWorkingTree } from './build.js';
import type { DatabaseOperationCost } from './database-meter.js';
import type { DatabaseTrial } from './database-trial.child.js';
import { type Measure, type RunCosts, roundsTable, runRounds } from './rounds.js';
import { runChild } from './run-child.js';
import type { WorkloadName } from './workloads.js';

const CHILD = join(import.meta.dirname, 'database-trial.child.ts');

/** Private databases only: the processes of a database that is known by its URL cannot be found and measured. */
const DATABASES = {
  postgres: () => startOwnPostgres(),
  mysql: () => startOwnMysql(),
  redis: () => startOwnRedis(),
} as const;
type ComparedDatabase = keyof typeof DATABASES;

const PROJECTS: Readonly<Record<WorkloadName, number>> = { cycles: 1, projects: 10 };
/** Enough for several seconds, and for many ticks of the clock that counts the CPU time of the database. */
const TASKS: Readonly<Record<ComparedDatabase, number>> = { postgres: 20_000, mysql: 20_000, redis: 30_000 };

const MEASURES: readonly Measure<DatabaseOperationCost>[] = [
  ['database_cpu_us', 'database CPU µs', (value) => value.toFixed(1)],
  ['database_written_bytes', 'database written bytes', integerText],
  ['coordinator_cpu_us', 'coordinator CPU µs', (value) => value.toFixed(1)],
  ['per_second', 'operations/s', integerText],
  ['p50_ms', 'p50 ms', integerText],
  ['p99_ms', 'p99 ms', integerText],
];

/** Compares the working tree with a Git commit on databases. Every run has a new database. */
export async function benchDatabasesAgainst(
  ref: string,
  selection: string,
  workloads: readonly WorkloadName[],
  rounds: number,
  isQuick: boolean,
): Promise<void> {
  const databases = selectedDatabases(selection);
  const builds = [await buildRef(ref), await buildWorkingTree()] as const;
  for (const database of databases) {
    const tasks = TASKS[database] / (isQuick ? 4 : 1);
    const missing = await checkStartable(database);
    if (missing !== null) console.log(`\n${database}: not run, ${missing}`);
    for (const workload of missing === null ? workloads : []) {
      const measuredRounds = await runRounds(
        builds,
        rounds,
        (build) => runTrial(build, database, PROJECTS[workload], tasks),
        (round) => process.stderr.write(`  ${database}, ${workload}: round ${round} of ${rounds}\n`),
      );
      const taskCount = integerText(tasks);
      const load = `${taskCount} of each operation, 1000 in flight, ${PROJECTS[workload]} project(s)`;
      console.log(`\n${database}, ${load}; medians of ${rounds} rounds, per operation\n`);
      console.log(roundsTable(builds, measuredRounds, MEASURES));
    }
  }
}

function selectedDatabases(selection: string): ComparedDatabase[] {
  const databaseNames = Object.keys(DATABASES) as ComparedDatabase[];
  const names = selection === 'all' ? databaseNames : selection.split(',');
  const databases = databaseNames.filter((name) => names.includes(name));
  if (databases.length < names.length)
    throw new Error(
      `--stores ${selection} with --against: expected all, or a list of ${databaseNames.join(',')}`,
    );
  return databases;
}

/** Starts and stops the database. Returns why it cannot be started, or null. */
async function checkStartable(database: ComparedDatabase): Promise<string | null> {
  const testDatabase = await DATABASES[database]();
  if ('missing' in testDatabase) return testDatabase.missing;
  await testDatabase.stop();
  return null;
}

async function runTrial(
  { dist }: Build,
  database: ComparedDatabase,
  projects: number,
  tasks: number,
): Promise<RunCosts<DatabaseOperationCost>> {
  const earlierPids = childrenOf(process.pid);
  const testDatabase: TestDatabase | MissingDatabase = await DATABASES[database]();
  if ('missing' in testDatabase) throw new Error(testDatabase.missing);
  const database_pids = childrenOf(process.pid).filter((pid) => !earlierPids.includes(pid));
  const trial: DatabaseTrial = { dist, url: testDatabase.url, database_pids, projects, tasks };
  try {
    return await runChild<DatabaseOperationCost>(CHILD, [JSON.stringify(trial)]);
  } finally {
    await testDatabase.stop();
  }
}
