import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A thousand agents exceed the default limits of `gen up`; nothing else differs from the defaults. */
const WIDE_LIMITS = ['max_concurrent_claims=10000000', 'max_active_sessions=1000000'];

export interface BenchServer {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts the built server on the file store. BENCH_NODE_FLAGS is passed to its Node, for a profiler. */
export async function startBenchServer(root: string, dist: string): Promise<BenchServer> {
  const limits = WIDE_LIMITS.flatMap((limit) => ['--limit', limit]);
  const flags = (process.env.BENCH_NODE_FLAGS ?? '').split(' ').filter((flag) => flag !== '');
  const args = ['up', '--store', `file:${root}`, '--port', '0', '--json', ...limits];
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
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
