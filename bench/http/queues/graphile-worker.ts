import { EventEmitter, once } from 'node:events';
import { Logger, run, runMigrations, type WorkerEvents } from 'graphile-worker';
import pg from 'pg';
import { type RunMeasurement, summarizeLatencies } from '../measurement.js';
import { jobsFor, POOL_CONNECTIONS, type QueueLoad } from './load.js';

const NAME = 'bench';
const logger = new Logger(() => () => {});

/**
 * Measures its workers with one job at a time each, and then with the local queue and batched completion that it
 * recommends.
 */
export async function graphileWorker(
  load: QueueLoad,
): Promise<Record<'workers' | 'batches', RunMeasurement>> {
  const pgPool = new pg.Pool({
    ...{ host: '127.0.0.1', port: load.port, user: 'postgres', database: 'postgres' },
    max: POOL_CONNECTIONS,
  });
  pgPool.on('error', console.error);
  pgPool.on('connect', (client) => client.on('error', console.error));
  await runMigrations({ pgPool, logger });
  const insert =
    'select graphile_worker.add_job($1, json_build_object($2::text, number)) from generate_series(1, $3) number';
  await pgPool.query(insert, [NAME, 'number', jobsFor(load)]);
  await pgPool.query('analyze');
  const workers = await runFor(load, pgPool, {});
  const localQueue = { size: load.agents + 1 };
  const batches = await runFor(load, pgPool, { localQueue, completeJobBatchDelay: 0 });
  await pgPool.end();
  return { workers, batches };
}

async function runFor(load: QueueLoad, pgPool: pg.Pool, settings: object): Promise<RunMeasurement> {
  const events = new EventEmitter() as WorkerEvents;
  const startedAtMs = new Map<object, number>();
  const takeMs: number[] = [];
  events.on('worker:getJob:start', ({ worker }) => startedAtMs.set(worker, performance.now()));
  events.on('job:start', ({ worker }) => takeMs.push(performance.now() - (startedAtMs.get(worker) ?? 0)));
  const before = await jobsLeft(pgPool);
  const beganMs = performance.now();
  const runner = await run({
    ...{ pgPool, logger, events, noHandleSignals: true },
    taskList: { [NAME]: async () => {} },
    preset: { worker: { concurrentJobs: load.agents, ...settings } },
  });
  const timeUp = new Promise((resolve) => setTimeout(resolve, load.seconds * 1000));
  await Promise.race([timeUp, once(events, 'worker:getJob:empty')]);
  // It starts the next job before the last one is completed, so only the end of the run shows how many were completed.
  await runner.stop();
  const seconds = (performance.now() - beganMs) / 1000;
  const jobs = before - (await jobsLeft(pgPool));
  return { seconds, jobs, requests: 2 * jobs, operations: { take: summarizeLatencies(takeMs) } };
}

async function jobsLeft(pgPool: pg.Pool): Promise<number> {
  const { rows } = await pgPool.query('select count(*)::int as left from graphile_worker.jobs');
  return rows[0].left;
}
