import PgBoss from 'pg-boss';
import { type RunMeasurement, summarizeLatencies } from '../measurement.js';
import {
  BATCH_JOBS,
  JOBS_PER_INSERT,
  jobsFor,
  POOL_CONNECTIONS,
  type QueueLoad,
  resultOf,
  takeAndComplete,
} from './load.js';

const NAME = 'bench';
const BATCHES_IN_FLIGHT = 2;

/** Measures pg-boss with one job per agent and call, and then in batches. */
export async function pgBoss(load: QueueLoad): Promise<Record<'agents' | 'batches', RunMeasurement>> {
  const boss = new PgBoss({
    ...{ host: '127.0.0.1', port: load.port, user: 'postgres', database: 'postgres' },
    ...{ max: POOL_CONNECTIONS, supervise: false, schedule: false },
  });
  boss.on('error', (error) => console.error(error));
  await boss.start();
  await boss.createQueue(NAME);
  for (let from = 0; from < jobsFor(load); from += JOBS_PER_INSERT) {
    await boss.insert(
      Array.from({ length: JOBS_PER_INSERT }, (_, at) => ({ name: NAME, data: { number: from + at } })),
    );
  }
  // Does what autovacuum does eventually: without statistics every take reads the whole table.
  await boss.getDb().executeSql('analyze', []);
  const one = await takeAndComplete<PgBoss.Job<unknown>>(
    load,
    async () => (await boss.fetch(NAME))[0],
    (job, agent) => boss.complete(NAME, job.id, resultOf(agent)),
  );
  const agents = measuredOf(one, one.complete_ms.length);
  let jobs = 0;
  const many = await takeAndComplete<PgBoss.Job<unknown>[]>(
    { ...load, agents: BATCHES_IN_FLIGHT },
    async () => {
      const taken = await boss.fetch(NAME, { batchSize: BATCH_JOBS });
      return taken.length === 0 ? undefined : taken;
    },
    async (taken) => {
      await boss.complete(
        NAME,
        taken.map(({ id }) => id),
      );
      jobs += taken.length;
    },
  );
  const batches = measuredOf(many, jobs);
  await boss.stop({ graceful: false });
  return { agents, batches };
}

const measuredOf = (
  { seconds, take_ms, complete_ms }: Awaited<ReturnType<typeof takeAndComplete>>,
  jobs: number,
): RunMeasurement => ({
  seconds,
  jobs,
  requests: take_ms.length + complete_ms.length,
  operations: { take: summarizeLatencies(take_ms), complete: summarizeLatencies(complete_ms) },
});
