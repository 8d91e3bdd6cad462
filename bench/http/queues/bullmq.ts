import { type Job, Queue, Worker } from 'bullmq';
import { type RunMeasurement, summarizeLatencies } from '../measurement.js';
import { JOBS_PER_INSERT, jobsFor, type QueueLoad, resultOf, takeAndComplete } from './load.js';

const NAME = 'bench';

/**
 * Measures BullMQ twice: one job per agent and call, as in our runs, and then with its own worker, its fastest mode.
 */
export async function bullmq(load: QueueLoad): Promise<Record<'agents' | 'worker', RunMeasurement>> {
  const connection = { host: '127.0.0.1', port: load.port, maxRetriesPerRequest: null };
  const queue = new Queue(NAME, { connection });
  // Enough for two runs, since BullMQ finishes more jobs than the other queues.
  await enqueue(queue, 4 * jobsFor(load));
  const byAgents = await agents(connection, load);
  const byWorker = await worker(connection, load, await queue.getWaitingCount());
  await queue.close();
  return { agents: byAgents, worker: byWorker };
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

async function agents(connection: object, load: QueueLoad): Promise<RunMeasurement> {
  const taker = new Worker(NAME, null, { connection });
  await taker.waitUntilReady();
  const done = await takeAndComplete<Job>(
    load,
    async (agent) => (await taker.getNextJob(`token-${agent}`, { block: false })) ?? undefined,
    (job, agent) => job.moveToCompleted(resultOf(agent), `token-${agent}`, false),
  );
  await taker.close();
  const jobs = done.complete_ms.length;
  const operations = {
    take: summarizeLatencies(done.take_ms),
    complete: summarizeLatencies(done.complete_ms),
  };
  return { seconds: done.seconds, jobs, requests: 2 * jobs, operations };
}

/** Its worker takes the next job in the call that completes the last, so the two have no separate times. */
async function worker(
  connection: object,
  { agents, seconds }: QueueLoad,
  waiting: number,
): Promise<RunMeasurement> {
  let jobs = 0;
  const beganMs = performance.now();
  const worker = new Worker(NAME, async () => resultOf(0), { connection, concurrency: agents });
  await new Promise<void>((resolve) => {
    setTimeout(resolve, seconds * 1000);
    worker.on('completed', () => {
      jobs += 1;
      if (jobs === waiting) resolve();
    });
  });
  const measured = { seconds: (performance.now() - beganMs) / 1000, jobs, requests: jobs, operations: {} };
  await worker.close();
  return measured;
}
