import { join } from 'node:path';
import { startOwnMysql } from '../../src/stores/mysql/testing.js';
import { startOwnPostgres } from '../../src/stores/postgres/testing.js';
import { startOwnRedis } from '../../src/stores/redis/testing.js';
import type { MissingEngine, TestEngine } from '../../src/stores/testing/engine.js';
import { childrenOf } from '../process-usage.js';
import { whole } from '../table.js';
import { type Build, buildRef, buildWorkingTree } from './build.js';
import type { EngineOperationCost } from './engine-meter.js';
import type { EngineTrial } from './engine-trial.child.js';
import { type Measure, type RunCosts, roundsTable, runRounds } from './rounds.js';
import { runChild } from './run-child.js';
import type { WorkloadName } from './trial.child.js';

const CHILD = join(import.meta.dirname, 'engine-trial.child.ts');

/** Never the database of a URL variable: its processes could not be told from other processes. */
const ENGINES = {
  postgres: () => startOwnPostgres(),
  mysql: () => startOwnMysql(),
  redis: () => startOwnRedis(),
} as const;
type ComparedEngine = keyof typeof ENGINES;

const PROJECTS: Readonly<Record<WorkloadName, number>> = { cycles: 1, projects: 10 };
/** Enough for several seconds, and for many ticks of the clock that counts the CPU time of the database. */
const TASKS: Readonly<Record<ComparedEngine, number>> = { postgres: 20_000, mysql: 20_000, redis: 30_000 };

const MEASURES: readonly Measure<EngineOperationCost>[] = [
  ['engine_cpu_us', 'engine CPU µs', (value) => value.toFixed(1)],
  ['engine_written_bytes', 'engine written bytes', whole],
  ['coordinator_cpu_us', 'coordinator CPU µs', (value) => value.toFixed(1)],
  ['per_second', 'operations/s', whole],
  ['p50_ms', 'p50 ms', whole],
  ['p99_ms', 'p99 ms', whole],
];

/** Compares the working tree with a commit on databases. Every run has a new database. */
export async function benchEnginesAgainst(
  ref: string,
  selection: string,
  workloads: readonly WorkloadName[],
  rounds: number,
  quick: boolean,
): Promise<void> {
  const engines = selectedEngines(selection);
  const builds = [await buildRef(ref), await buildWorkingTree()] as const;
  for (const engine of engines) {
    const tasks = TASKS[engine] / (quick ? 4 : 1);
    const missing = await whyMissing(engine);
    if (missing !== null) console.log(`\n${engine}: not run, ${missing}`);
    for (const workload of missing === null ? workloads : []) {
      const done = await runRounds(
        builds,
        rounds,
        (build) => runTrial(build, engine, PROJECTS[workload], tasks),
        (round) => process.stderr.write(`  ${engine}, ${workload}: round ${round} of ${rounds}\n`),
      );
      const load = `${whole(tasks)} of each operation, 1000 in flight, ${PROJECTS[workload]} project(s)`;
      console.log(`\n${engine}, ${load}; medians of ${rounds} rounds, per operation\n`);
      console.log(roundsTable(builds, done, MEASURES));
    }
  }
}

function selectedEngines(selection: string): ComparedEngine[] {
  const known = Object.keys(ENGINES) as ComparedEngine[];
  const names = selection === 'all' ? known : selection.split(',');
  const engines = known.filter((name) => names.includes(name));
  if (engines.length < names.length)
    throw new Error(`--stores with --against: expected all, or a list of ${known.join(',')}`);
  return engines;
}

async function whyMissing(engine: ComparedEngine): Promise<string | null> {
  const started = await ENGINES[engine]();
  if ('missing' in started) return started.missing;
  await started.stop();
  return null;
}

async function runTrial(
  { dist }: Build,
  engine: ComparedEngine,
  projects: number,
  tasks: number,
): Promise<RunCosts<EngineOperationCost>> {
  const before = childrenOf(process.pid);
  const started: TestEngine | MissingEngine = await ENGINES[engine]();
  if ('missing' in started) throw new Error(started.missing);
  const engine_pids = childrenOf(process.pid).filter((pid) => !before.includes(pid));
  const trial: EngineTrial = { dist, url: started.url, engine_pids, projects, tasks };
  try {
    return await runChild<EngineOperationCost>(CHILD, [JSON.stringify(trial)]);
  } finally {
    await started.stop();
  }
}
