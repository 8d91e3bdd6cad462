import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { findLogs } from '../../../src/cli/verify/find-logs.js';
import { readLog } from '../../../src/cli/verify/read-log.js';
import { verifyLog } from '../../../src/cli/verify/verify-log.js';
import type { LogReport } from '../../../src/coordinator/audit/verify/log-verifier.js';
import type { EventEnvelope } from '../../../src/core/contract/events.js';
import type { Store } from '../../../src/stores/store.js';
import { BENCH_TENANT } from './plan.js';

/** Verifies a server's log, passes on all its events, and returns the faults. */
export type ReadBenchLog = (onEvent: (event: EventEnvelope) => void) => Promise<string[]>;

const EVENTS_PER_PAGE = 1000;

export const fileLog =
  (root: string): ReadBenchLog =>
  async (onEvent) => {
    const faults: string[] = [];
    for (const logFile of (await findLogs(root)) ?? []) {
      faults.push(...faultsOf(await verifyLog(logFile, () => {})));
      await readLog(logFile, ({ event }) => onEvent(event));
    }
    return faults;
  };

/** Older versions export this function as `engineOf`, from `engines.js`. */
async function databaseLookupOf(dist: string) {
  const olderModule = `${dist}/stores/engines.js`;
  if (existsSync(olderModule)) return (await import(pathToFileURL(olderModule).href)).engineOf;
  return (await import(pathToFileURL(`${dist}/stores/databases.js`).href)).databaseOf;
}

/** Reads the log with the version that wrote it, because another version may refuse the schema. */
export const logOfDatabase =
  (url: string, dist: string): ReadBenchLog =>
  async (onEvent) => {
    const databaseOf = await databaseLookupOf(dist);
    const { verifyStore } = await import(
      pathToFileURL(`${dist}/coordinator/audit/verify/verify-store.js`).href
    );
    const store: Store = await (await databaseOf(url)).open(url);
    const faults: string[] = [];
    try {
      for (const project_id of await store.projects(BENCH_TENANT)) {
        const project = { tenant_id: BENCH_TENANT, project_id };
        faults.push(...faultsOf(await verifyStore(store, project, () => {})));
        for (let after = 0; ; ) {
          const events = await store.events(project, { after, limit: EVENTS_PER_PAGE });
          for (const event of events) onEvent(event);
          if (events.length === 0) break;
          after = events.at(-1)!.position;
        }
      }
    } finally {
      await store.close();
    }
    return faults;
  };

const faultsOf = ({ breaks }: LogReport): string[] =>
  breaks.map(({ rule, subject, says }) => `${rule} ${subject ?? ''}: ${says}`);
