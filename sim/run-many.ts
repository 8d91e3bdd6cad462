import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { SeedResult } from './run-seed.js';
import type { SeedRunOptions } from './scenario/scenario.js';

/** A worker runs much code only a few times, so it uses the baseline compiler at once, and collects garbage in one thread. */
const EXEC_ARGV = [
  '--enable-source-maps',
  '--max-semi-space-size=128',
  '--always-sparkplug',
  '--single-threaded-gc',
];

const HERE = dirname(fileURLToPath(import.meta.url));
type SeedWorkerReply = { readonly result: SeedResult } | { readonly error: string };

interface PoolRunOptions {
  readonly onResult: (result: SeedResult) => void;
  /** Called before each run; false: no further run starts. */
  readonly shouldContinue?: () => boolean;
}

/** Plays many runs in a temporary pool. */
export async function runMany(
  runs: Iterable<SeedRunOptions>,
  { jobs, ...options }: PoolRunOptions & { readonly jobs: number },
): Promise<void> {
  const pool = await SeedWorkerPool.start(jobs);
  try {
    await pool.run(runs, options);
  } finally {
    pool.stop();
  }
}

/**
 * A pool of processes that play runs, since a simulation replaces the clock of the whole process. The first runs of a
 * new process take twice as long as those after fifty, so callers that play several times keep the pool.
 */
export class SeedWorkerPool {
  private constructor(
    private readonly folder: string,
    private readonly children: readonly ChildProcess[],
  ) {}

  static async start(jobs: number): Promise<SeedWorkerPool> {
    const folder = mkdtempSync(join(HERE, '..', 'node_modules', '.sim-'));
    const script = join(folder, 'worker.mjs');
    try {
      await bundleWorker(script);
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
    const children = Array.from({ length: jobs }, () => fork(script, { execArgv: EXEC_ARGV }));
    for (const child of children) lowerPriority(child);
    return new SeedWorkerPool(folder, children);
  }

  /** Returns when no run is in progress, also on failure. */
  async run(runs: Iterable<SeedRunOptions>, options: PoolRunOptions): Promise<void> {
    const remaining = runs[Symbol.iterator]();
    const settled = await Promise.allSettled(
      this.children.map((child) => runUntilEmpty(child, remaining, options)),
    );
    for (const result of settled) if (result.status === 'rejected') throw result.reason;
  }

  stop(): void {
    for (const child of this.children) child.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Bundled once: a simulation that is transpiled file by file runs at half the speed. */
async function bundleWorker(script: string): Promise<void> {
  await build({
    entryPoints: [join(HERE, 'worker.ts')],
    outfile: script,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    sourcemap: 'inline',
    logLevel: 'error',
  });
}

async function runUntilEmpty(
  child: ChildProcess,
  remaining: Iterator<SeedRunOptions>,
  options: PoolRunOptions,
): Promise<void> {
  while (options.shouldContinue?.() ?? true) {
    const next = remaining.next();
    if (next.done) return;
    options.onResult(await runInWorker(child, next.value));
  }
}

/** Simulations need only processor time; tests that run beside them against a real clock must not be delayed. */
function lowerPriority({ pid }: ChildProcess): void {
  if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
}

function runInWorker(child: ChildProcess, run: SeedRunOptions): Promise<SeedResult> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void =>
      reject(new Error(`the process of seed ${run.seed} exited (${code})`));
    child.once('exit', onExit);
    child.once('message', (reply: SeedWorkerReply) => {
      child.off('exit', onExit);
      if ('result' in reply) resolve(reply.result);
      else reject(new Error(`seed ${run.seed}: ${reply.error}`));
    });
    child.send(run);
  });
}
