import { integerText } from '../table.js';
import { type Build, buildRef, buildWorkingTree } from './build.js';
import type { OperationCost } from './meter.js';
import { type Measure, type Round, type RunCosts, roundsTable } from './rounds.js';
import { mean, median } from './statistics.js';
import type { TrialOperation } from './trial.child.js';
import { Trial } from './trial.js';
import { WORKLOADS, type WorkloadName } from './workloads.js';

/** Each operation of a round is measured in this many slices, in which the two versions take turns. */
const SLICES = 10;

const MEASURES: readonly Measure<OperationCost>[] = [
  ['cpu_us', 'CPU µs', (value) => value.toFixed(1)],
  ['wall_us', 'wall µs', (value) => value.toFixed(1)],
  ['allocated_bytes', 'allocated bytes', integerText],
  ['written_bytes', 'written bytes', integerText],
  ['p50_ms', 'p50 ms', (value) => value.toFixed(2)],
  ['p99_ms', 'p99 ms', (value) => value.toFixed(2)],
];

/**
 * Compares the working tree with a Git commit on the file store. On a shared machine the speed changes within seconds, so
 * both versions run at the same time, each in its own process, and take turns of a fraction of a second.
 */
export async function benchAgainst(
  ref: string,
  workloads: readonly WorkloadName[],
  rounds: number,
): Promise<void> {
  const builds = [await buildRef(ref), await buildWorkingTree()] as const;
  for (const workload of workloads) {
    const measuredRounds: Round<OperationCost>[] = [];
    while (measuredRounds.length < rounds) {
      measuredRounds.push(await measureRound(builds, workload));
      process.stderr.write(`  ${workload}: round ${measuredRounds.length} of ${rounds}\n`);
    }
    const names = builds.map(({ name }) => name).toReversed();
    const title = `${names.join(' against ')}, medians of ${rounds} rounds of ${SLICES} slices`;
    console.log(`\n${workload}: ${title}\n`);
    console.log(roundsTable(builds, measuredRounds, MEASURES));
  }
}

async function measureRound(
  [before, after]: readonly [Build, Build],
  workload: WorkloadName,
): Promise<Round<OperationCost>> {
  const trials = [await Trial.start(before.dist, workload), await Trial.start(after.dist, workload)] as const;
  try {
    const { tasks } = WORKLOADS[workload];
    const costs: Record<TrialOperation, readonly [OperationCost, OperationCost]> = {
      claim: await measureInTurn(trials, 'claim', 0, tasks),
      renew: await measureInTurn(trials, 'renew', 0, tasks),
      submit: await measureInTurn(trials, 'submit', 0, tasks),
      'claim+submit': await measureInTurn(trials, 'claim+submit', tasks, tasks),
    };
    const costsOf = (version: 0 | 1): RunCosts<OperationCost> =>
      Object.fromEntries(Object.entries(costs).map(([operation, both]) => [operation, both[version]]));
    return { before: costsOf(0), after: costsOf(1) };
  } finally {
    await Promise.all(trials.map((trial) => trial.stop()));
  }
}

/** The costs of both versions. The first of a slice alternates, so that neither version always comes second. */
async function measureInTurn(
  trials: readonly [Trial, Trial],
  operation: TrialOperation,
  firstTask: number,
  tasks: number,
): Promise<readonly [OperationCost, OperationCost]> {
  const costs: [OperationCost[], OperationCost[]] = [[], []];
  const count = tasks / SLICES;
  for (let slice = 0; slice < SLICES; slice += 1) {
    for (const version of slice % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const first = firstTask + slice * count;
      costs[version].push(await trials[version].measure({ operation, first, count }));
    }
  }
  return [costOf(costs[0]), costOf(costs[1])];
}

/** Means of the costs, because a median would leave out the few slices with a large garbage collection. */
const costOf = (slices: readonly OperationCost[]): OperationCost => ({
  cpu_us: mean(slices.map(({ cpu_us }) => cpu_us)),
  wall_us: mean(slices.map(({ wall_us }) => wall_us)),
  allocated_bytes: mean(slices.map(({ allocated_bytes }) => allocated_bytes)),
  written_bytes: mean(slices.map(({ written_bytes }) => written_bytes ?? Number.NaN)),
  p50_ms: median(slices.map(({ p50_ms }) => p50_ms)),
  p99_ms: median(slices.map(({ p99_ms }) => p99_ms)),
});
