import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { table, whole } from '../table.js';
import { type Build, buildRef, buildWorkingTree } from './build.js';
import type { OperationCost } from './meter.js';
import { median, ratioOf, spreadText } from './statistics.js';
import type { WorkloadName } from './trial.child.js';

const CHILD = join(import.meta.dirname, 'trial.child.ts');
/** The same settings for both versions. */
const NODE_FLAGS = ['--max-semi-space-size=64', '--expose-gc', '--import', 'tsx'];

const MEASURES: readonly (readonly [keyof OperationCost, string, (value: number) => string])[] = [
  ['cpu_us', 'CPU µs', (value) => value.toFixed(1)],
  ['wall_us', 'wall µs', (value) => value.toFixed(1)],
  ['allocated_bytes', 'allocated bytes', whole],
  ['written_bytes', 'written bytes', whole],
  ['p50_ms', 'p50 ms', (value) => value.toFixed(2)],
  ['p99_ms', 'p99 ms', (value) => value.toFixed(2)],
];

type RoundCosts = Readonly<Record<string, OperationCost>>;

/**
 * Compares the working tree with a commit. Both run in turn, each in a process of its own, so that a change in the speed
 * of the machine affects both; a ratio is of two runs of the same round.
 */
export async function benchAgainst(
  ref: string,
  workloads: readonly WorkloadName[],
  rounds: number,
): Promise<void> {
  const [before, after] = [await buildRef(ref), await buildWorkingTree()];
  for (const workload of workloads) {
    const costs: { before: RoundCosts; after: RoundCosts }[] = [];
    for (let round = 0; round < rounds; round += 1) {
      // The order alternates, so that neither version always comes second.
      const first = await runTrial(round % 2 === 0 ? before : after, workload);
      const second = await runTrial(round % 2 === 0 ? after : before, workload);
      costs.push(round % 2 === 0 ? { before: first, after: second } : { before: second, after: first });
      process.stderr.write(`  ${workload}: round ${round + 1} of ${rounds}\n`);
    }
    console.log(`\n${workload}: ${after.name} against ${before.name}, medians of ${rounds} rounds\n`);
    console.log(table(['operation', 'measure', before.name, after.name, 'ratio', 'spread'], rowsOf(costs)));
  }
}

async function runTrial({ dist }: Build, workload: WorkloadName): Promise<RoundCosts> {
  const { stdout } = await promisify(execFile)(process.execPath, [...NODE_FLAGS, CHILD, dist, workload]);
  return JSON.parse(stdout) as RoundCosts;
}

function rowsOf(rounds: readonly { before: RoundCosts; after: RoundCosts }[]): string[][] {
  return Object.keys(rounds[0]?.before ?? {}).flatMap((operation) =>
    MEASURES.map(([field, title, format]) => {
      const before = rounds.map((round) => round.before[operation]?.[field] ?? Number.NaN);
      const after = rounds.map((round) => round.after[operation]?.[field] ?? Number.NaN);
      const { ratio, lowest, highest } = ratioOf(before, after);
      const cells = [format(median(before)), format(median(after)), ratio.toFixed(2)];
      return [operation, title, ...cells, spreadText(lowest, highest)];
    }),
  );
}
