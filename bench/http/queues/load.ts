import { setTimeout as sleep } from 'node:timers/promises';
import { startCpuMeter } from '../fleet/cpu.js';
import { type RunMeasurement, summarizeLatencies } from '../measurement.js';

/** The load for each job queue. */
export interface QueueLoad {
  readonly port: number;
  /** Process id of the database. */
  readonly database_pid: number;
  readonly agents: number;
  readonly seconds: number;
}

/** Excluded from the measurement, as in our own runs: a new process is still compiling its code. */
const WARM_UP_SECONDS = 2;

export const secondsWithWarmUp = ({ seconds }: QueueLoad): number => WARM_UP_SECONDS + seconds;

/** Jobs enqueued before the run, per second: more than a queue finishes one by one, by its worker, or in batches. */
const JOBS_ENQUEUED_PER_SECOND = { one: 5_000, worker: 12_000, batch: 25_000 } as const;
export const jobsFor = (load: QueueLoad, mode: keyof typeof JOBS_ENQUEUED_PER_SECOND): number =>
  JOBS_ENQUEUED_PER_SECOND[mode] * secondsWithWarmUp(load);
export const JOBS_PER_INSERT = 2_000;

/** Connections to PostgreSQL; agents wait for a free one, as behind any pool. */
export const POOL_CONNECTIONS = 20;

/** Jobs per call, where a queue takes and completes several at once. */
export const BATCH_JOBS = 500;
export const BATCHES_IN_FLIGHT = 2;

/** The result that an agent submits, as small as in our own runs. */
export const resultOf = (agent: number): object => ({ summary: 'done', by: agent });

/** Runs the load briefly, and then for the measurement, which includes the CPU time of the database. */
export async function runAfterWarmUp(
  load: QueueLoad,
  run: (load: QueueLoad) => Promise<RunMeasurement>,
): Promise<RunMeasurement> {
  await run({ ...load, seconds: WARM_UP_SECONDS });
  const cpuSince = startCpuMeter(load.database_pid);
  const measured = await run(load);
  if (measured.jobs === 0) throw new Error('No job was left after the warm-up. Enqueue more jobs.');
  return { ...measured, database_cpu_seconds: cpuSince() };
}

/** Each agent takes and completes jobs one after another, until the time is up or no job is left. */
export async function takeAndComplete<Job>(
  { agents, seconds }: QueueLoad,
  take: (agent: number) => Promise<Job | undefined>,
  complete: (job: Job, agent: number) => Promise<unknown>,
  jobsOf: (job: Job) => number = () => 1,
): Promise<RunMeasurement> {
  const claimMs: number[] = [];
  const completeMs: number[] = [];
  let jobs = 0;
  const startMs = performance.now();
  const runAgent = async (_: unknown, agent: number): Promise<void> => {
    while (performance.now() < startMs + seconds * 1000) {
      const jobStartMs = performance.now();
      const job = await take(agent);
      if (job === undefined) return;
      const takenMs = performance.now();
      await complete(job, agent);
      claimMs.push(takenMs - jobStartMs);
      completeMs.push(performance.now() - takenMs);
      jobs += jobsOf(job);
    }
  };
  await Promise.all(Array.from({ length: agents }, runAgent));
  return {
    seconds: (performance.now() - startMs) / 1000,
    jobs,
    requests: claimMs.length + completeMs.length,
    latencies: { claim: summarizeLatencies(claimMs), complete: summarizeLatencies(completeMs) },
  };
}

/** Resolves when the time is up, or as soon as `queueEmptied` resolves. */
export const waitForEndOfRun = (seconds: number, queueEmptied: Promise<unknown>): Promise<unknown> =>
  Promise.race([sleep(seconds * 1000, undefined, { ref: false }), queueEmptied]);
