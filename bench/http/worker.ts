/**
 * The process behind `inOwnProcess`: its argument names the workload, one message carries the input, one message the result.
 */
const WORKLOADS: Readonly<Record<string, () => Promise<(input: never) => Promise<unknown>>>> = {
  paced: async () => (await import('./fleet/paced.js')).measurePaced,
  'flat-out': async () => (await import('./fleet/flat-out.js')).measureFlatOut,
  keys: async () => (await import('./fleet/flat-out.js')).measureFlatOut,
  sdk: async () => (await import('./fleet/sdk.js')).measureSdk,
  batched: async () => (await import('./fleet/batched.js')).measureBatched,
  'batched-jobs': async () => (await import('./fleet/batched-jobs.js')).measureBatchedJobs,
  bullmq: async () => (await import('./queues/bullmq.js')).measureBullmq,
  'pg-boss': async () => (await import('./queues/pg-boss.js')).measurePgBoss,
  'graphile-worker': async () => (await import('./queues/graphile-worker.js')).measureGraphileWorker,
};

process.once('message', async (input) => {
  const workload = await WORKLOADS[process.argv[2] ?? '']?.();
  if (workload === undefined) throw new Error(`Unknown workload: ${process.argv[2]}`);
  const result = await workload(input as never);
  process.send?.(result, () => process.exit(0));
});
