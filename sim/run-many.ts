import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { SeedResult } from './run-seed.js';
import type { RunOptions } from './scenario/scenario.js';

/** Much code runs a little: compiled at once but not often, with a heap that collects beside nobody. */
const EXEC_ARGV = [
  '--enable-source-maps',
  '--max-semi-space-size=128',
  '--always-sparkplug',
  '--single-threaded-gc',
];

const HERE = dirname(fileURLToPath(import.meta.url));
type WorkerAnswer = { readonly result: SeedResult } | { readonly error: string };

export interface PlayOptions {
  readonly onResult: (result: SeedResult) => void;
  /** Asked after each result: false ends it all. */
  readonly goesOn?: () => boolean;
}

/** Plays many runs and lets its processes go. */
export async function runMany(
  runs: Iterable<RunOptions>,
  { jobs, ...options }: PlayOptions & { readonly jobs: number },
): Promise<void> {
  const players = await Players.start(jobs);
  try {
    await players.play(runs, options);
  } finally {
    players.stop();
  }
}

/**
 * Processes that play runs, since a simulation takes the clock away from the whole process. A new one takes twice as
 * long for each of its first runs as for those after fifty: whoever plays several times keeps them.
 */
export class Players {
  private constructor(
    private readonly folder: string,
    private readonly children: readonly ChildProcess[],
  ) {}

  static async start(jobs: number): Promise<Players> {
    const folder = mkdtempSync(join(HERE, '..', 'node_modules', '.sim-'));
    const script = join(folder, 'worker.mjs');
    try {
      await bundleWorker(script);
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
    const children = Array.from({ length: jobs }, () => fork(script, { execArgv: EXEC_ARGV }));
    for (const child of children) giveWay(child);
    return new Players(folder, children);
  }

  /** Returns when nothing is under way any more, also where it fails. */
  async play(runs: Iterable<RunOptions>, options: PlayOptions): Promise<void> {
    const left = runs[Symbol.iterator]();
    const ended = await Promise.allSettled(this.children.map((child) => work(child, left, options)));
    for (const end of ended) if (end.status === 'rejected') throw end.reason;
  }

  stop(): void {
    for (const child of this.children) child.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Bundled once: loaded file by file through a transpiler, a simulation runs at half the speed. */
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

async function work(child: ChildProcess, left: Iterator<RunOptions>, options: PlayOptions): Promise<void> {
  while (options.goesOn?.() ?? true) {
    const next = left.next();
    if (next.done) return;
    options.onResult(await ask(child, next.value));
  }
}

/** It needs no time but the processor's, and whoever tests against a real clock beside it does. */
function giveWay({ pid }: ChildProcess): void {
  if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
}

function ask(child: ChildProcess, run: RunOptions): Promise<SeedResult> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void =>
      reject(new Error(`seed ${run.seed} ended its process (${code})`));
    child.once('exit', onExit);
    child.once('message', (answer: WorkerAnswer) => {
      child.off('exit', onExit);
      if ('result' in answer) resolve(answer.result);
      else reject(new Error(`seed ${run.seed}: ${answer.error}`));
    });
    child.send(run);
  });
}
