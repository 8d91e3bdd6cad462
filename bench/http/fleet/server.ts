import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { BENCH_TENANT } from './plan.js';

/** A thousand agents exceed the default limits of `gen up`; nothing else differs from the defaults. */
const WIDE_LIMITS = ['max_concurrent_claims=10000000', 'max_active_sessions=1000000'];

/** The requests per second of one key are limited, so the agents share several. */
const KEYS = 10;

interface BenchServer {
  readonly url: string;
  readonly pid: number;
  /** Tokens of the agents' keys; empty: the server is open. */
  readonly tokens: readonly string[];
  readonly stop: () => Promise<void>;
}

/** How the server is started. */
export interface BenchServerOptions {
  /** URL of the store. */
  readonly store: string;
  /** Folder of the compiled server. */
  readonly dist: string;
  /** The access log of a server that requires keys; null: the server is open and has no access log. */
  readonly access_log: string | null;
}

/** Starts the built server. BENCH_NODE_FLAGS is passed to its Node, for a profiler. */
export async function startBenchServer({
  store,
  dist,
  access_log,
}: BenchServerOptions): Promise<BenchServer> {
  const tokens =
    access_log === null
      ? []
      : Array.from({ length: KEYS }, () => runCli(dist, ...CREATE_KEY, '--store', store));
  const log = access_log === null ? [] : ['--access-log', access_log];
  const limits = WIDE_LIMITS.flatMap((limit) => ['--limit', limit]);
  const flags = (process.env.BENCH_NODE_FLAGS ?? '').split(' ').filter((flag) => flag !== '');
  const args = ['up', '--store', store, '--port', '0', '--json', ...limits, ...log];
  const child = spawn(process.execPath, [...flags, join(dist, 'cli/main.js'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const lines = createInterface({ input: child.stdout });
  let output = '';
  for await (const line of lines) {
    output += line;
    if (line.endsWith('}')) break;
  }
  if (output === '') throw new Error(`gen up --store ${store} exited before it printed its address.`);
  const { url, pid } = JSON.parse(output) as { url: string; pid: number };
  return {
    url,
    pid,
    tokens,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** Creates the schema in a new database. */
export const migrateStore = (store: string, dist: string): string =>
  runCli(dist, 'migrate', '--store', store);

const CREATE_KEY = ['key', 'create', '--role', 'admin', '--tenant', BENCH_TENANT];

const runCli = (dist: string, ...args: string[]): string =>
  execFileSync(process.execPath, [join(dist, 'cli/main.js'), ...args], { encoding: 'utf8' }).trim();
