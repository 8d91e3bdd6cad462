import { integerText, millisText } from '../table.js';
import { bestOf, P99_MS_MAX, type TimedOperation } from './best.js';
import type { BatchRun } from './fleet/batched.js';
import type { LatencySummary, RunMeasurement } from './measurement.js';
import type { PartRow } from './part-report.js';

export const TABLE_HEAD = [
  ...['system', 'workload', 'durable', 'jobs/s', 'requests/s'],
  ...['claim p50', 'p99', 'complete p50', 'p99', 'remarks'],
];

/** The row of a run of our server on the file store. */
export const ourRow = (workload: string, measured: RunMeasurement, remarks: string): PartRow => ({
  system: 'Genesis Fleet',
  is_ours: true,
  store: 'file',
  workload,
  durable: 'fdatasync before the reply',
  measured,
  remarks,
});

export function cellsOf({ system, workload, durable, measured, remarks }: PartRow): readonly string[] {
  if (measured === null) return [system, workload];
  const { claim, complete } = measured.latencies;
  const times = [
    latencyCell(claim, 'p50_ms'),
    latencyCell(claim, 'p99_ms'),
    latencyCell(complete, 'p50_ms'),
    latencyCell(complete, 'p99_ms'),
  ];
  const rates = [measured.jobs, measured.requests].map((count) => integerText(count / measured.seconds));
  const database = databaseCpu(measured);
  return [
    system,
    workload,
    durable,
    ...rates,
    ...times,
    [database, remarks].filter((text) => text !== '').join('; '),
  ];
}

export function bestRemark(
  what: string,
  operation: TimedOperation,
  runs: readonly BatchRun[],
  measuredOf: (run: BatchRun) => RunMeasurement,
): string {
  const found = bestOf(runs, operation, measuredOf);
  if (found === null) return `${what}: nothing was measured`;
  const { jobs, seconds, latencies } = measuredOf(found.run);
  const bound = `p99 within ${P99_MS_MAX[operation]} ms`;
  const rate = `${integerText(jobs / seconds)} ${what}/s, ${found.run.items} per request`;
  return `best: ${rate}, p99 ${latencyCell(latencies[operation], 'p99_ms')} ms (${found.in_time ? bound : `none had ${bound}`})`;
}

export const latencyCell = (times: LatencySummary | undefined, which: 'p50_ms' | 'p99_ms'): string =>
  times === undefined ? '-' : millisText(times[which]);

export function cpuText({ server_cpu_seconds, requests, jobs }: RunMeasurement, per?: string): string {
  if (server_cpu_seconds == null) return 'server CPU unknown';
  const each = server_cpu_seconds / (per === undefined ? requests : jobs);
  return `server CPU ${integerText(each * 1e6)} µs/${per ?? 'request'}`;
}

function databaseCpu({ database_cpu_seconds, jobs }: RunMeasurement): string {
  return database_cpu_seconds == null
    ? ''
    : `database CPU ${integerText((database_cpu_seconds / jobs) * 1e6)} µs/job`;
}
