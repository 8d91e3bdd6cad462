import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { millis, whole } from '../table.js';
import { bestOf, type Operation, P99_MS_MAX } from './best.js';
import { inOwnProcess } from './child.js';
import type { BatchRun } from './fleet/batched.js';
import { verdict } from './fleet/compare-with-log.js';
import type { Told } from './fleet/fleet-replies.js';
import { startServer } from './fleet/server.js';
import type { Measured, Timed } from './measurement.js';
import type { Options, Part } from './options.js';
import { BATCH_JOBS } from './queues/load.js';
import { type PrivateServer, startPostgres, startRedis } from './queues/private-servers.js';

export const HEAD = [
  ...['who', 'what was done', 'durable', 'jobs/s', 'requests/s'],
  ...['take p50', 'p99', 'complete p50', 'p99', 'remarks'],
];
type Row = readonly string[];

/** The result of a part: its rows of the table, and the faults that were found. */
export interface Shown {
  readonly rows: readonly Row[];
  /** Lines printed below the table. */
  readonly remarks?: readonly string[];
  readonly faults: readonly string[];
}

export const PART_ROWS: Readonly<Record<Part, (options: Options) => Promise<Shown>>> = {
  paced: (options) =>
    onServer<OneByOne>('paced', options, ({ measured, told }) => [
      ours(
        `claim, renew, submit at ${whole(options.rate)} requests/s, ${whole(options.agents)} agents`,
        measured,
        `renew p50 ${ms(measured.operations.renew, 'p50_ms')}, p99 ${ms(measured.operations.renew, 'p99_ms')}; ` +
          `${whole(told.refused)} lost a race, ${told.unanswered} unanswered; ${cpu(measured)}`,
      ),
    ]),
  'flat-out': (options) =>
    onServer<OneByOne>('flat-out', options, ({ measured, told }) => [
      ours(
        `claim, submit, ${whole(options.agents)} agents flat out`,
        measured,
        `${told.unanswered} unanswered; ${cpu(measured)}`,
      ),
    ]),
  batched: (options) =>
    onServer<InBatches>(
      'batched',
      options,
      ({ runs }) =>
        runs.flatMap(({ items, claims, submits }) => [
          ours(`claims, ${items} a request`, claims, cpu(claims, 'claim')),
          ours(`results, ${items} a request`, submits, cpu(submits, 'result')),
        ]),
      ({ runs }) => [
        best('claims', 'take', runs, ({ claims }) => claims),
        best('results', 'complete', runs, ({ submits }) => submits),
      ],
    ),
  bullmq: (options) =>
    onQueue('BullMQ', 'bullmq', options, startRedis, 'appendfsync always', {
      agents: `take, complete, ${whole(options.agents)} agents flat out`,
      worker: `its own worker, concurrency ${whole(options.agents)}`,
    }),
  'pg-boss': (options) =>
    onQueue('pg-boss', 'pg-boss', options, startPostgres, 'fsync on', {
      agents: `take, complete, ${whole(options.agents)} agents flat out`,
      batches: `take, complete, ${BATCH_JOBS} a call`,
    }),
  'graphile-worker': (options) =>
    onQueue('graphile-worker', 'graphile-worker', options, startPostgres, 'fsync on', {
      workers: `its own worker, concurrency ${whole(options.agents)}, no result kept`,
      batches: 'the same with local queue and batched completion',
    }),
};

interface OneByOne {
  readonly measured: Measured;
  readonly told: Told;
}
interface InBatches {
  readonly runs: readonly BatchRun[];
  readonly told: Told;
}

/** Measures our server: starts it on a new log, runs the fleet in another process, and reads the log afterwards. */
async function onServer<Result extends { readonly told: Told }>(
  part: Part,
  options: Options,
  rowsOf: (result: Result) => readonly Row[],
  remarksOf: (result: Result) => readonly string[] = () => [],
): Promise<Shown> {
  const root = await mkdtemp(join(tmpdir(), 'bench-fleet-'));
  try {
    const server = await startServer(root);
    const given = { ...options, url: server.url, pid: server.pid };
    const result = await inOwnProcess<Result>(part, given).finally(() => server.stop());
    const faults = await verdict(root, result.told);
    return { rows: rowsOf(result), remarks: remarksOf(result), faults };
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** Measures a job queue on a server of its own. Its results are not verified: only figures are shown. */
async function onQueue(
  name: string,
  part: Part,
  options: Options,
  start: () => Promise<PrivateServer | null>,
  durable: string,
  what: Readonly<Record<string, string>>,
): Promise<Shown> {
  const server = await start();
  if (server === null) return { rows: [[name, 'not installed']], faults: [] };
  try {
    const runs = await inOwnProcess<Record<string, Measured>>(part, { ...options, port: server.port });
    const rows = Object.entries(what).map(([run, did]) =>
      row(`${name}, ${server.version}`, did, durable, runs[run]!, ''),
    );
    return { rows, faults: [] };
  } finally {
    await server.stop();
  }
}

const ours = (did: string, measured: Measured, remarks: string): Row =>
  row('Genesis Fleet', did, 'fdatasync before the reply', measured, remarks);

function row(who: string, did: string, durable: string, measured: Measured, remarks: string): Row {
  const { take, complete } = measured.operations;
  const times = [ms(take, 'p50_ms'), ms(take, 'p99_ms'), ms(complete, 'p50_ms'), ms(complete, 'p99_ms')];
  const rates = [measured.jobs, measured.requests].map((count) => whole(count / measured.seconds));
  return [who, did, durable, ...rates, ...times, remarks];
}

function best(
  what: string,
  operation: Operation,
  runs: readonly BatchRun[],
  measuredOf: (run: BatchRun) => Measured,
): string {
  const found = bestOf(runs, operation, measuredOf);
  if (found === null) return `${what}: nothing was measured`;
  const { jobs, seconds, operations } = measuredOf(found.run);
  const bound = `p99 within ${P99_MS_MAX[operation]} ms`;
  const rate = `${whole(jobs / seconds)} ${what}/s, ${found.run.items} a request`;
  return `best: ${rate}, p99 ${ms(operations[operation], 'p99_ms')} ms (${found.in_time ? bound : `none had ${bound}`})`;
}

const ms = (times: Timed | undefined, which: 'p50_ms' | 'p99_ms'): string =>
  times === undefined ? '-' : millis(times[which]);

function cpu({ server_cpu_seconds, requests, jobs }: Measured, per?: string): string {
  if (server_cpu_seconds == null) return 'server CPU unknown';
  const each = server_cpu_seconds / (per === undefined ? requests : jobs);
  return `server CPU ${whole(each * 1e6)} µs/${per ?? 'request'}`;
}
