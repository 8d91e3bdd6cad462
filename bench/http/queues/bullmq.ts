import { type Job, Queue, Worker } from 'bullmq';
import type { RunMeasurement } from '../measurement.js';
import {
  JOBS_PER_INSERT,
  jobsFor,
  type QueueLoad,
  resultOf,
  runAfterWarmUp,
  takeAndComplete,
  waitForEndOfRun,
} from './load.js';

const NAME = 'bench';
const WORKERS = 4;

/**
 * Measures BullMQ with one job per agent and call, as in our runs, with one worker that runs many jobs at a time, and with
 * several such workers, which its documentation recommends.
 */
export async function measureBullmq(
  load: QueueLoad,
): Promise<Record<'agents' | 'worker' | 'workers', RunMeasurement>> {
  const connection = { host: '127.0.0.1', port: load.port, maxRetriesPerRequest: null };
  const queue = new Queue(NAME, { connection });
  await enqueue(queue, jobsFor(load, 'worker'));
  const agents = await measureByAgents(connection, load);
  await enqueue(queue, jobsFor(load, 'worker'));
  const measureWithWorkers = (count: number) =>
    runAfterWarmUp(load, async (load) =>
      measureByWorkers(connection, load, count, await queue.getWaitingCount()),
    );
  const worker = await measureWithWorkers(1);
  await enqueue(queue, jobsFor(load, 'worker'));
  const workers = await measureWithWorkers(WORKERS);
  await queue.close();
  return { agents, worker, workers };
}

async function enqueue(queue: Queue, count: number): Promise<void> {
  for (let from = 0; from < count; from += JOBS_PER_INSERT) {
    const jobs = Array.from({ length: Math.min(JOBS_PER_INSERT, count - from) }, (_, at) => ({
      name: 'work',
      data: { number: from + at },
    }));
    await queue.addBulk(jobs);
  }
}

async function measureByAgents(connection: object, load: QueueLoad): Promise<RunMeasurement> {
  const fetcher = new Worker(NAME, null, { connection });
  await fetcher.waitUntilReady();
  const measured = await runAfterWarmUp(load, (load) =>
    takeAndComplete<Job>(
      load,
      async (agent) => (await fetcher.getNextJob(`token-${agent}`, { block: false })) ?? undefined,
      (job, agent) => job.moveToCompleted(resultOf(agent), `token-${agent}`, false),
    ),
  );
  await fetcher.close();
  return measured;
}

/** A worker takes the next job in the call that completes the last, so the two have no separate times. */
async function measureByWorkers(
  connection: object,
  { agents, seconds }: QueueLoad,
  count: number,
  waiting: number,
): Promise<RunMeasurement> {
  let jobs = 0;
  const startMs = performance.now();
  const concurrency = Math.ceil(agents / count);
  const workers = Array.from(
    { length: count },
    () => new Worker(NAME, async () => resultOf(0), { connection, concurrency }),
  );
  const queueEmptied = new Promise<void>((resolve) => {
    const onCompleted = (): void => {
      jobs += 1;
      if (jobs === waiting) resolve();
    };
    for (const worker of workers) worker.on('completed', onCompleted);
  });
  await waitForEndOfRun(seconds, queueEmptied);
  const measured = { seconds: (performance.now() - startMs) / 1000, jobs, requests: jobs, latencies: {} };
  await Promise.all(workers.map((worker) => worker.close()));
  return measured;
}
