import { existsSync } from 'node:fs';
import type { Database } from '../../src/stores/databases.js';
import { claim, renew, submit } from '../cycles.js';
import { harnessOn, newTempFolder } from '../harness.js';
import { type DatabaseOperationCost, meterDatabase } from './database-meter.js';

/** The input of one trial, passed as JSON in its argument. */
export interface DatabaseTrial {
  /** Folder of the compiled version. */
  readonly dist: string;
  readonly url: string;
  readonly database_pids: readonly number[];
  readonly projects: number;
  readonly tasks: number;
}

const IN_FLIGHT = 1000;
/** Tasks completed before the measurement, relative to the number of measured tasks. */
const WARM_UP_SHARE = 0.4;

/** Older versions export this function as `engineOf`, from `engines.js`. */
async function databaseOf(dist: string, url: string): Promise<Database> {
  const isOlderVersion = existsSync(`${dist}/stores/engines.js`);
  if (isOlderVersion) return (await import(`${dist}/stores/engines.js`)).engineOf(url);
  return (await import(`${dist}/stores/databases.js`)).databaseOf(url);
}

async function runTrial({ dist, url, database_pids, projects, tasks }: DatabaseTrial) {
  const { Coordinator } = await import(`${dist}/coordinator/index.js`);
  const database: Database = await databaseOf(dist, url);
  const migrator = await database.migrator(url);
  await migrator.up();
  await migrator.close();
  const warmUpTasks = Math.ceil(tasks * WARM_UP_SHARE);
  const tasksPerProject = Math.ceil((warmUpTasks + tasks) / projects);
  const harness = await harnessOn(
    await database.open(url),
    await newTempFolder(),
    projects,
    tasksPerProject,
    {
      implementation: { Coordinator },
    },
  );
  const measure = (count: number, operation: (index: number) => Promise<void>) =>
    meterDatabase(database_pids, count, IN_FLIGHT, operation);
  const costs: Record<string, DatabaseOperationCost> = {};
  try {
    for (const operation of [claim, renew, submit])
      await measure(warmUpTasks, (index) => operation(harness, index));
    for (const [name, operation] of Object.entries({ claim, renew, submit }))
      costs[name] = await measure(tasks, (index) => operation(harness, warmUpTasks + index));
  } finally {
    await harness.close();
  }
  return costs;
}

console.log(JSON.stringify(await runTrial(JSON.parse(process.argv[2] ?? '') as DatabaseTrial)));
