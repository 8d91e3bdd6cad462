/**
 * The process behind `inOwnProcess`: its argument names the job, one message carries the input, one message the result.
 */
const JOBS: Readonly<Record<string, () => Promise<(given: never) => Promise<unknown>>>> = {
  paced: async () => (await import('./fleet/paced.js')).paced,
  'flat-out': async () => (await import('./fleet/flat-out.js')).flatOut,
  keys: async () => (await import('./fleet/flat-out.js')).flatOut,
  sdk: async () => (await import('./fleet/sdk.js')).sdk,
  batched: async () => (await import('./fleet/batched.js')).batched,
  'batched-jobs': async () => (await import('./fleet/batched-jobs.js')).batchedJobs,
  bullmq: async () => (await import('./queues/bullmq.js')).bullmq,
  'pg-boss': async () => (await import('./queues/pg-boss.js')).pgBoss,
  'graphile-worker': async () => (await import('./queues/graphile-worker.js')).graphileWorker,
};

process.once('message', async (given) => {
  const job = await JOBS[process.argv[2] ?? '']?.();
  if (job === undefined) throw new Error(`Unknown job: ${process.argv[2]}`);
  const result = await job(given as never);
  process.send?.(result, () => process.exit(0));
});
