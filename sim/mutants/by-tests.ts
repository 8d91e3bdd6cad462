import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { realNowMs } from '../world/determinism-guards.js';
import { ROOT } from './bundle.js';
import type { Mutant } from './mutant.js';
import type { MutantVerdict } from './trial.js';

const VITEST = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
const CONFIG = join(ROOT, 'sim', 'mutants', 'unit-tests.config.ts');
/** Enough of a failing run's output to contain the first failed test. */
const OUTPUT_CHARS_MAX = 100_000;

/** What the configuration of the tests reads from `GENESIS_MUTANT`. */
export interface TestRun {
  /** Null: the unmodified code. */
  readonly mutant: Mutant | null;
  /** In the order in which they run, up to the first failure. */
  readonly tests: readonly string[];
}

/** Runs tests on a mutant. Only a failing test kills it; a run that breaks down or takes too long does not. */
export async function tryByTests(
  mutant: Mutant | null,
  tests: readonly string[],
  timeoutMs?: number,
): Promise<MutantVerdict> {
  const startMs = realNowMs();
  const { code, output, isHung } = await run({ mutant, tests }, timeoutMs);
  const failedTest = (/^\s*FAIL\s+(.*)$/m.exec(output) ?? /^\s*×\s+(.*)$/m.exec(output))?.[1];
  const outcome = code === 0 ? 'survived' : failedTest === undefined ? 'crashed' : 'killed';
  const seconds = (realNowMs() - startMs) / 1000;
  return { outcome: isHung ? 'hung' : outcome, by: 'tests', message: failedTest ?? '', seeds: 0, seconds };
}

interface TestRunEnd {
  readonly code: number | null;
  readonly output: string;
  readonly isHung: boolean;
}

function run(job: TestRun, timeoutMs: number | undefined): Promise<TestRunEnd> {
  const env = { ...process.env, GENESIS_MUTANT: JSON.stringify(job), NO_COLOR: '1' };
  // A separate process group, so that a worker in an endless loop ends with its parent.
  const child = spawn(process.execPath, [VITEST, 'run', '--config', CONFIG, '--bail', '1', ...job.tests], {
    cwd: ROOT,
    env,
    detached: true,
  });
  let output = '';
  let isHung = false;
  const keepOutput = (chunk: Buffer): void => {
    if (output.length < OUTPUT_CHARS_MAX) output += chunk.toString();
  };
  const stop = (): void => {
    isHung = true;
    process.kill(-(child.pid as number), 'SIGKILL');
  };
  const timer = timeoutMs === undefined ? undefined : setTimeout(stop, timeoutMs);
  child.stdout.on('data', keepOutput);
  child.stderr.on('data', keepOutput);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code, output, isHung });
    });
  });
}
