import { buildRef, buildWorkingTree } from '../against/build.js';
import { median, ratioOf, spreadText } from '../against/statistics.js';
import { integerText, millisText, table } from '../table.js';
import type { RunMeasurement } from './measurement.js';
import { type BenchOptions, isQueue } from './options.js';
import { PART_ROWS } from './rows.js';
import { databaseCpuUsPerJob, jobsPerSecond, type Series, SeriesList, serverCpuUsPerJob } from './series.js';

const HEAD = [
  ...['system', 'workload', 'jobs/s', 'ratio', 'spread'],
  ...['server CPU µs/job', 'ratio', 'spread', 'database CPU µs/job', 'ratio', 'spread', 'p99 ms'],
];

/** A version of Genesis Fleet: its name, null if only one version is measured, and the folder of its compiled server. */
interface Version {
  readonly name: string | null;
  readonly dist: string;
}

/**
 * Measures this version, the version of `--against` if there is one, and the job queues in turn, round by round. Prints
 * medians, and the ratios of measurements of the same round: median, lowest and highest. Returns the measurements of
 * this version and of the job queues, and the faults.
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
  const rows = series.all.map((each) => {
    const baseline =
      each.version === null || isBefore(each)
        ? undefined
        : series.find({ ...each, version: before?.name ?? null });
    return [
      [each.version, each.system].filter(Boolean).join(': '),
      each.workload,
      ...ratioCells(each, baseline),
    ];
  });
  console.log(`\nMedians of ${rounds} rounds${before === null ? '' : `; ratios to ${before.name}`}\n`);
  console.log(table(HEAD, rows, 2));
  return { series: series.all.filter((each) => !isBefore(each)), faults };
}

/** Runs all parts. Every other round runs in the opposite order, so that no part or version always comes second. */
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

function ratioCells({ measured }: Series, baseline: Series | undefined): string[] {
  const valuesOf = (metric: (run: RunMeasurement) => number) => measured.map(metric);
  const withRatio = (metric: (run: RunMeasurement) => number): string[] => {
    const value = wholeOrDash(median(valuesOf(metric)));
    if (baseline === undefined || value === '-') return [value, '', ''];
    const { ratio, lowest, highest } = ratioOf(baseline.measured.map(metric), valuesOf(metric));
    return [value, ratio.toFixed(2), spreadText(lowest, highest)];
  };
  const p99 = median(valuesOf(({ latencies }) => latencies.claim?.p99_ms ?? Number.NaN));
  return [
    ...withRatio(jobsPerSecond),
    ...withRatio(serverCpuUsPerJob),
    ...withRatio(databaseCpuUsPerJob),
    Number.isNaN(p99) ? '-' : millisText(p99),
  ];
}

const wholeOrDash = (value: number): string => (Number.isNaN(value) ? '-' : integerText(value));
