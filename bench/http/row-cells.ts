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
  itemsName: string,
  operation: TimedOperation,
  runs: readonly BatchRun[],
  measuredOf: (run: BatchRun) => RunMeasurement,
): string {
  const best = bestOf(runs, operation, measuredOf);
  if (best === null) return `${itemsName}: nothing was measured`;
  const { jobs, seconds, latencies } = measuredOf(best.run);
  const bound = `p99 within ${P99_MS_MAX[operation]} ms`;
  const rate = `${integerText(jobs / seconds)} ${itemsName}/s, ${best.run.batchSize} per request`;
  return `best: ${rate}, p99 ${latencyCell(latencies[operation], 'p99_ms')} ms (${best.in_time ? bound : `none had ${bound}`})`;
}

export const latencyCell = (times: LatencySummary | undefined, percentile: 'p50_ms' | 'p99_ms'): string =>
  times === undefined ? '-' : millisText(times[percentile]);

export function cpuText({ server_cpu_seconds, requests, jobs }: RunMeasurement, per?: string): string {
  if (server_cpu_seconds == null) return 'server CPU unknown';
  const perItem = server_cpu_seconds / (per === undefined ? requests : jobs);
  return `server CPU ${integerText(perItem * 1e6)} µs/${per ?? 'request'}`;
}

function databaseCpu({ database_cpu_seconds, jobs }: RunMeasurement): string {
  return database_cpu_seconds == null
    ? ''
    : `database CPU ${integerText((database_cpu_seconds / jobs) * 1e6)} µs/job`;
}
