/**
 * The process behind `inOwnProcess`: its argument names the workload, one message carries the input, one message the result.
 */
const WORKLOADS: Readonly<Record<string, () => Promise<(given: never) => Promise<unknown>>>> = {
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
  const workload = await WORKLOADS[process.argv[2] ?? '']?.();
  if (workload === undefined) throw new Error(`Unknown workload: ${process.argv[2]}`);
  const result = await workload(given as never);
  process.send?.(result, () => process.exit(0));
});
