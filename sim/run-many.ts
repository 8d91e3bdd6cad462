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

export interface ManyOptions {
  readonly jobs: number;
  readonly onResult: (result: SeedResult) => void;
  /** Asked after each result: false ends it all. */
  readonly goesOn?: () => boolean;
}

/** Plays many runs in processes of their own, since a simulation takes the clock away from the whole process. */
export async function runMany(runs: Iterable<RunOptions>, options: ManyOptions): Promise<void> {
  // Bundled once: loaded file by file through a transpiler, a simulation runs at half the speed.
  const folder = mkdtempSync(join(HERE, '..', 'node_modules', '.sim-'));
  const script = join(folder, 'worker.mjs');
  try {
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
    const left = runs[Symbol.iterator]();
    await Promise.all(Array.from({ length: options.jobs }, () => work(script, left, options)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function work(script: string, left: Iterator<RunOptions>, options: ManyOptions): Promise<void> {
  const child = fork(script, { execArgv: EXEC_ARGV });
  giveWay(child);
  try {
    while (options.goesOn?.() ?? true) {
      const next = left.next();
      if (next.done) return;
      options.onResult(await ask(child, next.value));
    }
  } finally {
    child.kill();
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
