import { integerText } from '../table.js';
import { logOfDatabase } from './fleet/bench-log.js';
import type { FleetReplies } from './fleet/fleet-replies.js';
import { runOnServer } from './fleet/on-server.js';
import { migrateStore } from './fleet/server.js';
import type { RunMeasurement } from './measurement.js';
import type { BenchOptions } from './options.js';
import { type BenchStore, notInstalled, type PartReport, type PartRow } from './part-report.js';
import { BATCH_JOBS } from './queues/load.js';
import { type PrivateServer, startPostgres, startRedis } from './queues/private-servers.js';

export type BenchDatabase = Exclude<BenchStore, 'file'>;

interface DatabaseSetup {
  readonly start: () => Promise<PrivateServer | null>;
  readonly storeUrl: (port: number) => string;
  readonly durable: string;
}

/** The databases on which both our server and the job queues are measured, with the same settings. */
export const DATABASES: Readonly<Record<BenchDatabase, DatabaseSetup>> = {
  redis: {
    start: startRedis,
    storeUrl: (port) => `redis://127.0.0.1:${port}`,
    durable: 'appendfsync always',
  },
  postgres: {
    start: startPostgres,
    storeUrl: (port) => `postgres://postgres@127.0.0.1:${port}/postgres`,
    durable: 'fsync on',
  },
};

/** The description of each load, by its name in worker.ts. */
const WORKLOADS: Readonly<Record<string, (options: BenchOptions) => string>> = {
  'flat-out': ({ agents }) => `claim, submit, ${integerText(agents)} agents flat out`,
  sdk: () => 'the same through the SDK, which shares requests',
  'batched-jobs': () => `claim, submit, ${BATCH_JOBS} per request`,
};

/** Measures our server on a database. Every run has a new database. */
export async function benchOnDatabase(name: BenchDatabase, options: BenchOptions): Promise<PartReport> {
  const { start, storeUrl, durable } = DATABASES[name];
  const rows: PartRow[] = [];
  const faults: string[] = [];
  for (const [loadName, workloadOf] of Object.entries(WORKLOADS)) {
    const server = await start();
    if (server === null) return notInstalled('Genesis Fleet', name);
    try {
      const run = await runOnce(loadName, options, storeUrl(server.port), server.pid);
      faults.push(...run.faults);
      rows.push({
        ...{ system: `Genesis Fleet, ${server.version}`, is_ours: true, store: name },
        ...{ workload: workloadOf(options), durable, measured: run.result.measured },
        remarks: `${run.result.replies.unanswered} unanswered`,
      });
    } finally {
      await server.stop();
    }
  }
  return { rows, faults };
}

function runOnce(loadName: string, options: BenchOptions, store: string, database_pid: number) {
  const { dist } = options;
  migrateStore(store, dist);
  return runOnServer<{ readonly measured: RunMeasurement; readonly replies: FleetReplies }>({
    ...{ loadName, options, database_pid },
    server: { store, dist, access_log: null },
    readBenchLog: logOfDatabase(store, dist),
  });
}
