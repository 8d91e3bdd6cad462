/** The load that each job queue is given. */
export interface QueueLoad {
  readonly port: number;
  readonly agents: number;
  readonly seconds: number;
}

/** Jobs enqueued before the clock starts: more than the queues on PostgreSQL finish in a second. */
const JOBS_ENQUEUED_PER_SECOND = 5_000;
export const jobsFor = ({ seconds }: QueueLoad): number => JOBS_ENQUEUED_PER_SECOND * seconds;
export const JOBS_PER_INSERT = 2_000;

/** Connections to PostgreSQL; agents wait for a free one, as behind any pool. */
export const POOL_CONNECTIONS = 20;

/** Jobs per call, where a queue takes and completes several at once. */
export const BATCH_JOBS = 500;

/** The result that an agent submits, as small as in our own runs. */
export const resultOf = (agent: number): object => ({ summary: 'done', by: agent });

/** Each agent takes and completes jobs one after another, until the time is up or no job is left. */
export async function takeAndComplete<Job>(
  { agents, seconds }: QueueLoad,
  take: (agent: number) => Promise<Job | undefined>,
  complete: (job: Job, agent: number) => Promise<unknown>,
): Promise<{ seconds: number; take_ms: number[]; complete_ms: number[] }> {
  const take_ms: number[] = [];
  const complete_ms: number[] = [];
  const beganMs = performance.now();
  const oneAgent = async (_: unknown, agent: number): Promise<void> => {
    while (performance.now() < beganMs + seconds * 1000) {
      const startedMs = performance.now();
      const job = await take(agent);
      if (job === undefined) return;
      const takenMs = performance.now();
      await complete(job, agent);
      take_ms.push(takenMs - startedMs);
      complete_ms.push(performance.now() - takenMs);
    }
  };
  await Promise.all(Array.from({ length: agents }, oneAgent));
  return { seconds: (performance.now() - beganMs) / 1000, take_ms, complete_ms };
}
