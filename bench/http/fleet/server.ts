import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A thousand agents exceed the default limits of `gen up`; nothing else differs from the defaults. */
const WIDE_LIMITS = ['max_concurrent_claims=10000000', 'max_active_sessions=1000000'];

/** The requests per second of one key are limited, so the agents share several. */
const KEYS = 10;

export interface BenchServer {
  readonly url: string;
  readonly pid: number;
  /** Tokens of the agents' keys; empty: the server is open. */
  readonly tokens: readonly string[];
  readonly stop: () => Promise<void>;
}

/**
 * Starts the built server on the file store: open, or with keys and an access log. BENCH_NODE_FLAGS is passed to its
 * Node, for a profiler.
 */
export async function startBenchServer(root: string, dist: string, withKeys: boolean): Promise<BenchServer> {
  const tokens = withKeys ? Array.from({ length: KEYS }, () => createKey(root, dist)) : [];
  const log = withKeys ? ['--access-log', join(root, 'access.log')] : [];
  const limits = WIDE_LIMITS.flatMap((limit) => ['--limit', limit]);
  const flags = (process.env.BENCH_NODE_FLAGS ?? '').split(' ').filter((flag) => flag !== '');
  const args = ['up', '--store', `file:${root}`, '--port', '0', '--json', ...limits, ...log];
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
  if (output === '') throw new Error('The server did not start.');
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

function createKey(root: string, dist: string): string {
  const args = ['key', 'create', '--role', 'admin', '--tenant', 'bench', '--store', `file:${root}`];
  return execFileSync(process.execPath, [join(dist, 'cli/main.js'), ...args], { encoding: 'utf8' }).trim();
}
