import { type Build, buildRef, buildWorkingTree } from '../against/build.js';
import { median, ratioOf, spreadText } from '../against/statistics.js';
import { millis, table, whole } from '../table.js';
import type { RunMeasurement } from './measurement.js';
import type { BenchOptions } from './options.js';
import { PART_ROWS } from './rows.js';

const OURS = ['paced', 'flat-out', 'keys', 'sdk', 'batched'];

/** The measurements of one workload, one for each round. */
type Series = RunMeasurement[];

/**
 * Measures this version, another one and the job queues in turn, round by round, and prints medians. A ratio is of two
 * measurements of the same round, with the lowest and the highest. Returns the faults.
 */
export async function compare(options: BenchOptions & { readonly against: string }): Promise<string[]> {
  const builds = [await buildRef(options.against), await buildWorkingTree()];
  const [before, after] = builds as [Build, Build];
  const series = new Map<string, Series>();
  const faults: string[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    for (const part of options.parts) {
      const versions = OURS.includes(part) ? (round % 2 === 0 ? builds : builds.toReversed()) : [after];
      for (const { name, dist } of versions) {
        const report = await PART_ROWS[part]({ ...options, dist });
        for (const { system, workload, measured } of report.rows) {
          const key = `${OURS.includes(part) ? name : system}\n${workload}`;
          if (measured !== null) series.set(key, [...(series.get(key) ?? []), measured]);
        }
        faults.push(...report.faults.map((fault) => `${part}: ${fault}`));
      }
    }
    process.stderr.write(`  round ${round + 1} of ${options.rounds}\n`);
  }
  console.log(`\nMedians of ${options.rounds} rounds; ratios of this version to ${before.name}\n`);
  const head = [
    'version or system',
    'workload',
    'jobs/s',
    'ratio',
    'spread',
    'CPU µs',
    'ratio',
    'spread',
    'p99 ms',
  ];
  const rows = [...series].map(([key, measured]) => {
    const [version = '', workload = ''] = key.split('\n');
    const other = version === after.name ? series.get(`${before.name}\n${workload}`) : undefined;
    return [version, workload, ...cells(measured, other)];
  });
  console.log(table(head, rows));
  return faults;
}

function cells(measured: Series, other: Series | undefined): string[] {
  const [rates, cpu] = [measured.map(jobsPerSecond), measured.map(cpuPerRequest)];
  const p99 = median(measured.map(({ operations }) => operations.take?.p99_ms ?? Number.NaN));
  const ratioCells = (of: (one: RunMeasurement) => number, values: readonly number[]): string[] => {
    if (other === undefined) return ['', ''];
    const { ratio, lowest, highest } = ratioOf(other.map(of), values);
    return [ratio.toFixed(2), spreadText(lowest, highest)];
  };
  return [
    whole(median(rates)),
    ...ratioCells(jobsPerSecond, rates),
    Number.isNaN(median(cpu)) ? '-' : whole(median(cpu)),
    ...ratioCells(cpuPerRequest, cpu),
    millis(p99),
  ];
}

const jobsPerSecond = ({ jobs, seconds }: RunMeasurement): number => jobs / seconds;

/** Processor time of the server per request, in microseconds. */
const cpuPerRequest = ({ server_cpu_seconds, requests }: RunMeasurement): number =>
  server_cpu_seconds == null ? Number.NaN : (server_cpu_seconds / requests) * 1e6;
