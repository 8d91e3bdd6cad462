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

/** Runs the mutant's own tests. Only a failing test kills it; a run that breaks down does not. */
export async function tryByTests(mutant: Mutant, tests: readonly string[]): Promise<MutantVerdict> {
  const beganMs = realNowMs();
  const { code, printed } = await run(mutant.name, tests);
  const failed = /^\s*(?:×|FAIL)\s+(.*)$/m.exec(printed)?.[1];
  const outcome = code === 0 ? 'survived' : failed === undefined ? 'crashed' : 'killed';
  return { outcome, by: 'tests', message: failed ?? '', seeds: 0, seconds: (realNowMs() - beganMs) / 1000 };
}

function run(name: string, tests: readonly string[]): Promise<{ code: number | null; printed: string }> {
  const env = { ...process.env, GENESIS_MUTANT: name, NO_COLOR: '1' };
  const child = spawn(process.execPath, [VITEST, 'run', '--config', CONFIG, '--bail', '1', ...tests], {
    cwd: ROOT,
    env,
  });
  let printed = '';
  const keep = (chunk: Buffer): void => {
    if (printed.length < OUTPUT_CHARS_MAX) printed += chunk.toString();
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, printed }));
  });
}
