import { inOwnProcess } from '../child.js';
import type { BenchOptions } from '../options.js';
import type { ReadBenchLog } from './bench-log.js';
import { compareWithLog } from './compare-with-log.js';
import type { FleetReplies } from './fleet-replies.js';
import { type BenchServerOptions, startBenchServer } from './server.js';

interface ServerRun {
  /** The load, as named in worker.ts. */
  readonly loadName: string;
  readonly options: BenchOptions;
  readonly server: BenchServerOptions;
  readonly readBenchLog: ReadBenchLog;
  /** Process id of the database, if there is one. */
  readonly database_pid?: number;
}

/** Measures our server on a new store: the fleet runs in another process, and the log is read afterwards. */
export async function runOnServer<Result extends { readonly replies: FleetReplies }>({
  loadName,
  options,
  server,
  readBenchLog,
  database_pid,
}: ServerRun): Promise<{ result: Result; faults: string[] }> {
  const { url, pid, tokens, stop } = await startBenchServer(server);
  const input = { ...options, url, pid, tokens, database_pid };
  const result = await inOwnProcess<Result>(loadName, input).finally(stop);
  return { result, faults: await compareWithLog(readBenchLog, result.replies) };
}
