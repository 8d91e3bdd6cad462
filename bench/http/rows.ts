import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { integerText } from '../table.js';
import { inOwnProcess } from './child.js';
import { type BenchDatabase, benchOnDatabase, DATABASES } from './database-part.js';
import type { BatchRun } from './fleet/batched.js';
import { fileLog } from './fleet/bench-log.js';
import type { FleetReplies } from './fleet/fleet-replies.js';
import { runOnServer } from './fleet/on-server.js';
import type { RunMeasurement } from './measurement.js';
import type { BenchOptions, BenchPart } from './options.js';
import { notInstalled, type PartReport, type PartRow } from './part-report.js';
import { BATCH_JOBS } from './queues/load.js';
import { bestRemark, cpuText, latencyCell, ourRow } from './row-cells.js';

export const PART_ROWS: Readonly<Record<BenchPart, (options: BenchOptions) => Promise<PartReport>>> = {
  paced: (options) =>
    onFileStore<SingleRunResult>('paced', options, ({ measured, replies }) => [
      ourRow(
        `claim, renew, submit at ${integerText(options.rate)} requests/s, ` +
          `${integerText(options.agents)} agents`,
        measured,
        `renew p50 ${latencyCell(measured.latencies.renew, 'p50_ms')}, p99 ${latencyCell(measured.latencies.renew, 'p99_ms')}; ` +
          `${integerText(replies.refused)} lost a race, ` +
          `${replies.unanswered} unanswered; ${cpuText(measured)}`,
      ),
    ]),
  'flat-out': (options) =>
    onFileStore<SingleRunResult>('flat-out', options, ({ measured, replies }) => [
      ourRow(
        `claim, submit, ${integerText(options.agents)} agents flat out`,
        measured,
        `${replies.unanswered} unanswered; ${cpuText(measured)}`,
      ),
    ]),
  keys: (options) =>
    onFileStore<SingleRunResult>('keys', options, ({ measured, replies }) => [
      ourRow(
        `the same with keys and an access log`,
        measured,
        `${replies.unanswered} unanswered; ${cpuText(measured)}`,
      ),
    ]),
  sdk: (options) =>
    onFileStore<SingleRunResult>('sdk', options, ({ measured, replies }) => [
      ourRow(
        `the same through the SDK, which shares requests`,
        measured,
        `${replies.unanswered} unanswered; ${cpuText(measured, 'job')}`,
      ),
    ]),
  batched: (options) =>
    onFileStore<BatchRunResult>(
      'batched',
      options,
      ({ runs }) =>
        runs.flatMap(({ batchSize, claims, submits }) => [
          ourRow(`claims, ${batchSize} per request`, claims, cpuText(claims, 'claim')),
          ourRow(`results, ${batchSize} per request`, submits, cpuText(submits, 'result')),
        ]),
      ({ runs }) => [
        bestRemark('claims', 'claim', runs, ({ claims }) => claims),
        bestRemark('results', 'complete', runs, ({ submits }) => submits),
      ],
    ),
  redis: (options) => benchOnDatabase('redis', options),
  bullmq: (options) =>
    onQueue('BullMQ', 'bullmq', 'redis', options, {
      agents: `claim, complete, ${integerText(options.agents)} agents flat out`,
      worker: `its own worker, concurrency ${integerText(options.agents)}`,
      workers: `four of its own workers, concurrency ${integerText(options.agents)} in all`,
    }),
  postgres: (options) => benchOnDatabase('postgres', options),
  'pg-boss': (options) =>
    onQueue('pg-boss', 'pg-boss', 'postgres', options, {
      agents: `claim, complete, ${integerText(options.agents)} agents flat out`,
      batches: `fetch, complete, ${BATCH_JOBS} per call, no result kept`,
      workers: `its own workers, ${BATCH_JOBS} per batch, no result kept`,
    }),
  'graphile-worker': (options) =>
    onQueue('graphile-worker', 'graphile-worker', 'postgres', options, {
      workers: `its own worker, concurrency ${integerText(options.agents)}, no result kept`,
      batches: 'the same with local queue and batched completion',
      documented: 'settings of its documentation: concurrency 24, local queue 500',
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

/** Measures our server on the file store. */
async function onFileStore<Result extends { readonly replies: FleetReplies }>(
  part: BenchPart,
  options: BenchOptions,
  rowsOf: (result: Result) => readonly PartRow[],
  remarksOf: (result: Result) => readonly string[] = () => [],
): Promise<PartReport> {
  const root = await mkdtemp(join(tmpdir(), 'bench-fleet-'));
  const access_log = part === 'keys' ? join(root, 'access.log') : null;
  const server = { store: `file:${root}`, dist: options.dist, access_log };
  try {
    const { result, faults } = await runOnServer<Result>({
      ...{ loadName: part, options, server },
      readBenchLog: fileLog(root),
    });
    return { rows: rowsOf(result), remarks: remarksOf(result), faults };
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** Measures a job queue on its own database. Its results are not verified: only figures are shown. */
async function onQueue(
  name: string,
  part: BenchPart,
  database: BenchDatabase,
  options: BenchOptions,
  workloadByRun: Readonly<Record<string, string>>,
): Promise<PartReport> {
  const { start, durable } = DATABASES[database];
  const server = await start();
  if (server === null) return notInstalled(name, database);
  try {
    const input = { ...options, port: server.port, database_pid: server.pid };
    const runs = await inOwnProcess<Record<string, RunMeasurement>>(part, input);
    const system = `${name}, ${server.version}`;
    const rows = Object.entries(workloadByRun).map(([run, workload]) => ({
      ...{ system, is_ours: false, store: database, workload, durable, measured: runs[run]!, remarks: '' },
    }));
    return { rows, faults: [] };
  } finally {
    await server.stop();
  }
}
