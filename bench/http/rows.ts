import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { millis, whole } from '../table.js';
import { bestOf, P99_MS_MAX, type TimedOperation } from './best.js';
import { inOwnProcess } from './child.js';
import type { BatchRun } from './fleet/batched.js';
import { compareWithLog } from './fleet/compare-with-log.js';
import type { FleetReplies } from './fleet/fleet-replies.js';
import { startBenchServer } from './fleet/server.js';
import type { LatencySummary, RunMeasurement } from './measurement.js';
import type { BenchOptions, BenchPart } from './options.js';
import { BATCH_JOBS } from './queues/load.js';
import { type PrivateServer, startPostgres, startRedis } from './queues/private-servers.js';

export const TABLE_HEAD = [
  ...['system', 'workload', 'durable', 'jobs/s', 'requests/s'],
  ...['claim p50', 'p99', 'complete p50', 'p99', 'remarks'],
];

/** The measurement of one workload on one system; null if the system is not installed. */
export interface PartRow {
  readonly system: string;
  readonly workload: string;
  readonly durable: string;
  readonly measured: RunMeasurement | null;
  readonly remarks: string;
}

/** The result of a part: its rows of the table, and the faults that were found. */
export interface PartReport {
  readonly rows: readonly PartRow[];
  /** Lines printed below the table. */
  readonly remarks?: readonly string[];
  readonly faults: readonly string[];
}

export const PART_ROWS: Readonly<Record<BenchPart, (options: BenchOptions) => Promise<PartReport>>> = {
  paced: (options) =>
    onServer<SingleRunResult>('paced', options, ({ measured, replies }) => [
      ourRow(
        `claim, renew, submit at ${whole(options.rate)} requests/s, ${whole(options.agents)} agents`,
        measured,
        `renew p50 ${ms(measured.operations.renew, 'p50_ms')}, p99 ${ms(measured.operations.renew, 'p99_ms')}; ` +
          `${whole(replies.refused)} lost a race, ${replies.unanswered} unanswered; ${cpu(measured)}`,
      ),
    ]),
  'flat-out': (options) =>
    onServer<SingleRunResult>('flat-out', options, ({ measured, replies }) => [
      ourRow(
        `claim, submit, ${whole(options.agents)} agents flat out`,
        measured,
        `${replies.unanswered} unanswered; ${cpu(measured)}`,
      ),
    ]),
  keys: (options) =>
    onServer<SingleRunResult>('keys', options, ({ measured, replies }) => [
      ourRow(
        `the same with keys and an access log`,
        measured,
        `${replies.unanswered} unanswered; ${cpu(measured)}`,
      ),
    ]),
  sdk: (options) =>
    onServer<SingleRunResult>('sdk', options, ({ measured, replies }) => [
      ourRow(
        `the same through the SDK, which shares requests`,
        measured,
        `${replies.unanswered} unanswered; ${cpu(measured, 'job')}`,
      ),
    ]),
  batched: (options) =>
    onServer<BatchRunResult>(
      'batched',
      options,
      ({ runs }) =>
        runs.flatMap(({ items, claims, submits }) => [
          ourRow(`claims, ${items} per request`, claims, cpu(claims, 'claim')),
          ourRow(`results, ${items} per request`, submits, cpu(submits, 'result')),
        ]),
      ({ runs }) => [
        bestRemark('claims', 'take', runs, ({ claims }) => claims),
        bestRemark('results', 'complete', runs, ({ submits }) => submits),
      ],
    ),
  bullmq: (options) =>
    onQueue('BullMQ', 'bullmq', options, startRedis, 'appendfsync always', {
      agents: `claim, complete, ${whole(options.agents)} agents flat out`,
      worker: `its own worker, concurrency ${whole(options.agents)}`,
    }),
  'pg-boss': (options) =>
    onQueue('pg-boss', 'pg-boss', options, startPostgres, 'fsync on', {
      agents: `claim, complete, ${whole(options.agents)} agents flat out`,
      batches: `claim, complete, ${BATCH_JOBS} per call`,
    }),
  'graphile-worker': (options) =>
    onQueue('graphile-worker', 'graphile-worker', options, startPostgres, 'fsync on', {
      workers: `its own worker, concurrency ${whole(options.agents)}, no result kept`,
      batches: 'the same with local queue and batched completion',
    }),
};

interface SingleRunResult {
  readonly measured: RunMeasurement;
  readonly replies: FleetReplies;
}
interface BatchRunResult {
  readonly runs: readonly BatchRun[];
  readonly replies: FleetReplies;
}

/** Measures our server: starts it on a new log, runs the fleet in another process, and reads the log afterwards. */
async function onServer<Result extends { readonly replies: FleetReplies }>(
  part: BenchPart,
  options: BenchOptions,
  rowsOf: (result: Result) => readonly PartRow[],
  remarksOf: (result: Result) => readonly string[] = () => [],
): Promise<PartReport> {
  const root = await mkdtemp(join(tmpdir(), 'bench-fleet-'));
  try {
    const { url, pid, tokens, stop } = await startBenchServer(root, options.dist, part === 'keys');
    const input = { ...options, url, pid, tokens };
    const result = await inOwnProcess<Result>(part, input).finally(stop);
    const faults = await compareWithLog(root, result.replies);
    return { rows: rowsOf(result), remarks: remarksOf(result), faults };
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** Measures a job queue on a server of its own. Its results are not verified: only figures are shown. */
async function onQueue(
  name: string,
  part: BenchPart,
  options: BenchOptions,
  start: () => Promise<PrivateServer | null>,
  durable: string,
  workOfRuns: Readonly<Record<string, string>>,
): Promise<PartReport> {
  const server = await start();
  if (server === null) {
    const missing = { system: name, workload: 'not installed', durable: '', measured: null, remarks: '' };
    return { rows: [missing], faults: [] };
  }
  try {
    const runs = await inOwnProcess<Record<string, RunMeasurement>>(part, { ...options, port: server.port });
    const system = `${name}, ${server.version}`;
    const rows = Object.entries(workOfRuns).map(([run, workload]) => ({
      ...{ system, workload, durable, measured: runs[run]!, remarks: '' },
    }));
    return { rows, faults: [] };
  } finally {
    await server.stop();
  }
}

const ourRow = (workload: string, measured: RunMeasurement, remarks: string): PartRow => ({
  system: 'Genesis Fleet',
  workload,
  durable: 'fdatasync before the reply',
  measured,
  remarks,
});

export function cellsOf({ system, workload, durable, measured, remarks }: PartRow): readonly string[] {
  if (measured === null) return [system, workload];
  const { take, complete } = measured.operations;
  const times = [ms(take, 'p50_ms'), ms(take, 'p99_ms'), ms(complete, 'p50_ms'), ms(complete, 'p99_ms')];
  const rates = [measured.jobs, measured.requests].map((count) => whole(count / measured.seconds));
  return [system, workload, durable, ...rates, ...times, remarks];
}

function bestRemark(
  what: string,
  operation: TimedOperation,
  runs: readonly BatchRun[],
  measuredOf: (run: BatchRun) => RunMeasurement,
): string {
  const found = bestOf(runs, operation, measuredOf);
  if (found === null) return `${what}: nothing was measured`;
  const { jobs, seconds, operations } = measuredOf(found.run);
  const bound = `p99 within ${P99_MS_MAX[operation]} ms`;
  const rate = `${whole(jobs / seconds)} ${what}/s, ${found.run.items} per request`;
  return `best: ${rate}, p99 ${ms(operations[operation], 'p99_ms')} ms (${found.in_time ? bound : `none had ${bound}`})`;
}

const ms = (times: LatencySummary | undefined, which: 'p50_ms' | 'p99_ms'): string =>
  times === undefined ? '-' : millis(times[which]);

function cpu({ server_cpu_seconds, requests, jobs }: RunMeasurement, per?: string): string {
  if (server_cpu_seconds == null) return 'server CPU unknown';
  const each = server_cpu_seconds / (per === undefined ? requests : jobs);
  return `server CPU ${whole(each * 1e6)} µs/${per ?? 'request'}`;
}
