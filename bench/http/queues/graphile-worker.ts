import { EventEmitter, once } from 'node:events';
import { Logger, run, runMigrations, type WorkerEvents } from 'graphile-worker';
import pg from 'pg';
import { type RunMeasurement, summarizeLatencies } from '../measurement.js';
import { jobsFor, POOL_CONNECTIONS, type QueueLoad, runAfterWarmUp, waitForEndOfRun } from './load.js';

const NAME = 'bench';
const logger = new Logger(() => () => {});

/** The settings on the page "Performance" of the documentation of graphile-worker. */
const DOCUMENTED = {
  concurrentJobs: 24,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
} as const;
const DOCUMENTED_CONNECTIONS = 25;

/**
 * Measures the workers of graphile-worker with one job at a time each, with the recommended local queue and batched
 * completion, and with the settings for which its documentation publishes figures.
 */
export async function measureGraphileWorker(
  load: QueueLoad,
): Promise<Record<'workers' | 'batches' | 'documented', RunMeasurement>> {
  const pgPool = newPool(load, POOL_CONNECTIONS);
  await runMigrations({ pgPool, logger });
  const concurrentJobs = load.agents;
  await enqueue(pgPool, jobsFor(load, 'one'));
  const workers = await runAfterWarmUp(load, (load) => runFor(load, pgPool, { concurrentJobs }));
  await enqueue(pgPool, jobsFor(load, 'batch'));
  const localQueue = { size: load.agents + 1 };
  const batches = await runAfterWarmUp(load, (load) =>
    runFor(load, pgPool, { concurrentJobs, localQueue, completeJobBatchDelay: 0 }),
  );
  await pgPool.end();
  const documentedPool = newPool(load, DOCUMENTED_CONNECTIONS);
  await enqueue(documentedPool, jobsFor(load, 'batch'));
  const documented = await runAfterWarmUp(load, (load) => runFor(load, documentedPool, DOCUMENTED));
  await documentedPool.end();
  return { workers, batches, documented };
}

function newPool({ port }: QueueLoad, max: number): pg.Pool {
  const pool = new pg.Pool({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres', max });
  pool.on('error', console.error);
  pool.on('connect', (client) => client.on('error', console.error));
  return pool;
}

async function enqueue(pgPool: pg.Pool, count: number): Promise<void> {
  const insert = `select graphile_worker.add_jobs(array(
    select json_populate_record(null::graphile_worker.job_spec,
      json_build_object('identifier', $1::text, 'payload', json_build_object('number', number)))
    from generate_series(1, $2::int) number))`;
  await pgPool.query(insert, [NAME, count]);
  await pgPool.query('analyze');
}

async function runFor(load: QueueLoad, pgPool: pg.Pool, settings: object): Promise<RunMeasurement> {
  const events = new EventEmitter() as WorkerEvents;
  const startedAtMs = new Map<object, number>();
  const claimMs: number[] = [];
  events.on('worker:getJob:start', ({ worker }) => startedAtMs.set(worker, performance.now()));
  events.on('job:start', ({ worker }) => claimMs.push(performance.now() - (startedAtMs.get(worker) ?? 0)));
  const jobsBefore = await countJobsLeft(pgPool);
  const startMs = performance.now();
  const runner = await run({
    ...{ pgPool, logger, events, noHandleSignals: true },
    taskList: { [NAME]: async () => {} },
    preset: { worker: settings },
  });
  await waitForEndOfRun(load.seconds, once(events, 'worker:getJob:empty'));
  // A worker starts the next job before the last one is completed, so only the end of the run shows how many were completed.
  await runner.stop();
  const seconds = (performance.now() - startMs) / 1000;
  const jobs = jobsBefore - (await countJobsLeft(pgPool));
  return { seconds, jobs, requests: 2 * jobs, latencies: { claim: summarizeLatencies(claimMs) } };
}

async function countJobsLeft(pgPool: pg.Pool): Promise<number> {
  const { rows } = await pgPool.query('select count(*)::int as left from graphile_worker.jobs');
  return rows[0].left;
}
