/** What each job queue is given to do. */
export interface QueueLoad {
  readonly port: number;
  readonly agents: number;
  readonly seconds: number;
}

/** Enqueued before the clock starts: more than those on PostgreSQL finish in a second. */
const JOBS_PER_SECOND = 5_000;
export const jobsFor = ({ seconds }: QueueLoad): number => JOBS_PER_SECOND * seconds;
export const JOBS_PER_INSERT = 2_000;

/** Connections to PostgreSQL: agents wait their turn, as they would behind any pool. */
export const POOL_CONNECTIONS = 20;

/** Jobs a call, where a queue takes and completes many at once. */
export const BATCH_JOBS = 500;

/** What an agent hands in, as small as ours. */
export const resultOf = (agent: number): object => ({ summary: 'done', by: agent });

/** Take and complete, over and over, each agent on its own, until the time is up or nothing is left. */
export async function takeAndComplete<Job>(
  { agents, seconds }: QueueLoad,
  take: (agent: number) => Promise<Job | undefined>,
  complete: (job: Job, agent: number) => Promise<unknown>,
): Promise<{ seconds: number; take_ms: number[]; complete_ms: number[] }> {
  const take_ms: number[] = [];
  const complete_ms: number[] = [];
  const began_ms = performance.now();
  const oneAgent = async (_: unknown, agent: number): Promise<void> => {
    while (performance.now() < began_ms + seconds * 1000) {
      const asked_ms = performance.now();
      const job = await take(agent);
      if (job === undefined) return;
      const taken_ms = performance.now();
      await complete(job, agent);
      take_ms.push(taken_ms - asked_ms);
      complete_ms.push(performance.now() - taken_ms);
    }
  };
  await Promise.all(Array.from({ length: agents }, oneAgent));
  return { seconds: (performance.now() - began_ms) / 1000, take_ms, complete_ms };
}
