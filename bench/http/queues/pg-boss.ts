import PgBoss from 'pg-boss';
import type { RunMeasurement } from '../measurement.js';
import {
  BATCH_JOBS,
  BATCHES_IN_FLIGHT,
  JOBS_PER_INSERT,
  POOL_CONNECTIONS,
  type QueueLoad,
  resultOf,
  runAfterWarmUp,
  secondsWithWarmUp,
  takeAndComplete,
  waitForEndOfRun,
} from './load.js';

/** A worker polls at most twice a second, so several are needed to keep the database busy. */
const WORKERS = 10;
const POLLING_SECONDS_MIN = 0.5;

/**
 * Jobs waiting at the start, per second of the run and its warm-up. Every fetch sorts all waiting jobs, so many more jobs
 * than a run finishes would slow it down. A run that finishes all of them ends early.
 */
const JOBS_WAITING_PER_SECOND = { agents: 500, batches: 10_000, workers: 5_000 } as const;
type PgBossRun = keyof typeof JOBS_WAITING_PER_SECOND;

/** Measures pg-boss with one job per agent and call, with batches that a program fetches, and with its own workers. */
export async function measurePgBoss(load: QueueLoad): Promise<Record<PgBossRun, RunMeasurement>> {
  const boss = new PgBoss({
    ...{ host: '127.0.0.1', port: load.port, user: 'postgres', database: 'postgres' },
    ...{ max: POOL_CONNECTIONS, supervise: false, schedule: false },
  });
  boss.on('error', (error) => console.error(error));
  await boss.start();
  const runIn = async (
    queue: PgBossRun,
    run: (boss: PgBoss, queue: string, load: QueueLoad) => Promise<RunMeasurement>,
  ): Promise<RunMeasurement> => {
    // Each queue has its own table, so that the runs do not slow each other down.
    await boss.createQueue(queue);
    await enqueue(boss, queue, JOBS_WAITING_PER_SECOND[queue] * secondsWithWarmUp(load));
    return runAfterWarmUp(load, (load) => run(boss, queue, load));
  };
  const agents = await runIn('agents', measureByAgents);
  const batches = await runIn('batches', measureByBatches);
  const workers = await runIn('workers', measureByWorkers);
  await boss.stop({ graceful: false });
  return { agents, batches, workers };
}

async function enqueue(boss: PgBoss, queue: string, count: number): Promise<void> {
  for (let from = 0; from < count; from += JOBS_PER_INSERT) {
    const length = Math.min(JOBS_PER_INSERT, count - from);
    await boss.insert(Array.from({ length }, (_, at) => ({ name: queue, data: { number: from + at } })));
  }
  // Does what autovacuum would do later: without statistics every fetch reads the whole table.
  await boss.getDb().executeSql('analyze', []);
}

const measureByAgents = (boss: PgBoss, queue: string, load: QueueLoad): Promise<RunMeasurement> =>
  takeAndComplete<PgBoss.Job<unknown>>(
    load,
    async () => (await boss.fetch(queue))[0],
    (job, agent) => boss.complete(queue, job.id, resultOf(agent)),
  );

const measureByBatches = (boss: PgBoss, queue: string, load: QueueLoad): Promise<RunMeasurement> =>
  takeAndComplete<PgBoss.Job<unknown>[]>(
    { ...load, agents: BATCHES_IN_FLIGHT },
    async () => {
      const jobs = await boss.fetch(queue, { batchSize: BATCH_JOBS });
      return jobs.length === 0 ? undefined : jobs;
    },
    (jobs) =>
      boss.complete(
        queue,
        jobs.map(({ id }) => id),
      ),
    (jobs) => jobs.length,
  );

/** The workers of pg-boss do not wait for the completion of a batch, so only the table shows how many jobs were completed. */
async function measureByWorkers(
  boss: PgBoss,
  queue: string,
  { seconds }: QueueLoad,
): Promise<RunMeasurement> {
  const settings = { batchSize: BATCH_JOBS, pollingIntervalSeconds: POLLING_SECONDS_MIN };
  const waiting = await boss.getQueueSize(queue);
  const completedBefore = await countCompletedJobs(boss, queue);
  const startMs = performance.now();
  let startedJobs = 0;
  const queueEmptied = new Promise<void>((resolve) => {
    const countJobs = async (jobs: readonly unknown[]): Promise<void> => {
      startedJobs += jobs.length;
      if (startedJobs >= waiting) resolve();
    };
    for (let worker = 0; worker < WORKERS; worker += 1) void boss.work(queue, settings, countJobs);
  });
  await waitForEndOfRun(seconds, queueEmptied);
  const jobs = (await countCompletedJobs(boss, queue)) - completedBefore;
  const measuredSeconds = (performance.now() - startMs) / 1000;
  await boss.offWork(queue);
  return { seconds: measuredSeconds, jobs, requests: (2 * jobs) / BATCH_JOBS, latencies: {} };
}

async function countCompletedJobs(boss: PgBoss, queue: string): Promise<number> {
  const count = "select count(*)::int as jobs from pgboss.job where name = $1 and state = 'completed'";
  const { rows } = await boss.getDb().executeSql(count, [queue]);
  return rows[0].jobs;
}
