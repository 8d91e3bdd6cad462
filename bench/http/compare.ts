import { buildRef, buildWorkingTree } from '../against/build.js';
import { median, ratioOf, spreadText } from '../against/statistics.js';
import { integerText, millisText, table } from '../table.js';
import type { RunMeasurement } from './measurement.js';
import { type BenchOptions, isQueue } from './options.js';
import { PART_ROWS } from './rows.js';
import { databaseCpuPerJob, jobsPerSecond, type Series, SeriesList, serverCpuPerJob } from './series.js';

const HEAD = [
  ...['system', 'workload', 'jobs/s', 'ratio', 'spread'],
  ...['server CPU µs/job', 'ratio', 'spread', 'database CPU µs/job', 'ratio', 'spread', 'p99 ms'],
];

/** A version of ours: its name, if there are two, and the folder of its compiled server. */
interface Version {
  readonly name: string | null;
  readonly dist: string;
}

/**
 * Measures this version, another one if asked to, and the job queues in turn, round by round, and prints medians. A
 * ratio is of two measurements of the same round, with the lowest and the highest. Returns what this version and the
 * job queues were measured with, and the faults.
 */
export async function compare(
  options: BenchOptions,
  rounds: number,
): Promise<{ series: readonly Series[]; faults: readonly string[] }> {
  const { against } = options;
  const before = against === null ? null : await buildRef(against);
  const current: Version = before === null ? { name: null, dist: options.dist } : await buildWorkingTree();
  const series = new SeriesList();
  const faults: string[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const versions = before === null ? [current] : [before, current];
    faults.push(...(await runRound(options, versions, round % 2 === 1, series)));
    process.stderr.write(`  round ${round + 1} of ${rounds}\n`);
  }
  const isBefore = ({ version }: Series): boolean => version !== null && version === before?.name;
  const rows = series.all.map((one) => {
    const other =
      one.version === null || isBefore(one)
        ? undefined
        : series.find({ ...one, version: before?.name ?? null });
    return [[one.version, one.system].filter(Boolean).join(': '), one.workload, ...ratioCells(one, other)];
  });
  console.log(`\nMedians of ${rounds} rounds${before === null ? '' : `; ratios to ${before.name}`}\n`);
  console.log(table(HEAD, rows, 2));
  return { series: series.all.filter((one) => !isBefore(one)), faults };
}

/** Runs all parts; every other round in the opposite order, so that nothing always comes second. */
async function runRound(
  options: BenchOptions,
  versions: readonly Version[],
  isReversed: boolean,
  series: SeriesList,
): Promise<string[]> {
  const inRoundOrder = <Item>(items: readonly Item[]) => (isReversed ? items.toReversed() : items);
  const faults: string[] = [];
  for (const part of inRoundOrder(options.parts)) {
    // A job queue has no versions of ours, and runs once.
    for (const { name, dist } of isQueue(part) ? versions.slice(-1) : inRoundOrder(versions)) {
      process.stderr.write(`  ${[part, name].filter(Boolean).join(' of ')} …\n`);
      const report = await PART_ROWS[part]({ ...options, dist });
      for (const row of report.rows) series.add(row, name);
      faults.push(...report.faults.map((fault) => `${part}: ${fault}`));
    }
  }
  return faults;
}

function ratioCells({ measured }: Series, other: Series | undefined): string[] {
  const valuesOf = (of: (one: RunMeasurement) => number) => measured.map(of);
  const withRatio = (of: (one: RunMeasurement) => number): string[] => {
    const value = wholeOrDash(median(valuesOf(of)));
    if (other === undefined || value === '-') return [value, '', ''];
    const { ratio, lowest, highest } = ratioOf(other.measured.map(of), valuesOf(of));
    return [value, ratio.toFixed(2), spreadText(lowest, highest)];
  };
  const p99 = median(valuesOf(({ latencies }) => latencies.claim?.p99_ms ?? Number.NaN));
  return [
    ...withRatio(jobsPerSecond),
    ...withRatio(serverCpuPerJob),
    ...withRatio(databaseCpuPerJob),
    Number.isNaN(p99) ? '-' : millisText(p99),
  ];
}

const wholeOrDash = (value: number): string => (Number.isNaN(value) ? '-' : integerText(value));
