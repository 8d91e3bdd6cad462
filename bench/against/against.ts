import { join } from 'node:path';
import { integerText } from '../table.js';
import { buildRef, buildWorkingTree } from './build.js';
import type { OperationCost } from './meter.js';
import { type Measure, roundsTable, runRounds } from './rounds.js';
import { runChild } from './run-child.js';
import type { WorkloadName } from './trial.child.js';

const CHILD = join(import.meta.dirname, 'trial.child.ts');

const MEASURES: readonly Measure<OperationCost>[] = [
  ['cpu_us', 'CPU µs', (value) => value.toFixed(1)],
  ['wall_us', 'wall µs', (value) => value.toFixed(1)],
  ['allocated_bytes', 'allocated bytes', integerText],
  ['written_bytes', 'written bytes', integerText],
  ['p50_ms', 'p50 ms', (value) => value.toFixed(2)],
  ['p99_ms', 'p99 ms', (value) => value.toFixed(2)],
];

/** Compares the working tree with a Git commit on the file store. Each version runs in its own process. */
export async function benchAgainst(
  ref: string,
  workloads: readonly WorkloadName[],
  rounds: number,
): Promise<void> {
  const builds = [await buildRef(ref), await buildWorkingTree()] as const;
  for (const workload of workloads) {
    const measuredRounds = await runRounds(
      builds,
      rounds,
      ({ dist }) => runChild<OperationCost>(CHILD, [dist, workload]),
      (round) => process.stderr.write(`  ${workload}: round ${round} of ${rounds}\n`),
    );
    const names = builds.map(({ name }) => name).toReversed();
    console.log(`\n${workload}: ${names.join(' against ')}, medians of ${rounds} rounds\n`);
    console.log(roundsTable(builds, measuredRounds, MEASURES));
  }
}
