import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundle, ROOT } from './bundle.js';
import { tryByTests } from './by-tests.js';
import { Control } from './control.js';
import type { Mutant } from './mutant.js';
import { MUTANTS } from './mutants.js';
import { heading, row, summary } from './report.js';
import { steps, tryMutant, type Verdict } from './trial.js';

/** The code as it is must pass the search and these seeds, or there is no telling what kills a mutant. */
const SOUND_SEEDS = 40;
/** Not a time: the verdict must not hang on what else the machine has to do. */
const SEEDS_MAX = 600;

const { values } = parseArgs({
  options: { only: { type: 'string' }, jobs: { type: 'string', default: '2' } },
});

function chosen(): readonly Mutant[] {
  const { only } = values;
  if (only === undefined) return MUTANTS;
  const found = MUTANTS.filter(({ name }) => name === only);
  if (found.length > 0) return found;
  const names = MUTANTS.map(({ name }) => `  ${name}`);
  throw new Error(`There is no mutant ${only}. There are:\n${names.join('\n')}`);
}

async function assertSound(control: Control): Promise<void> {
  for (const { by, order } of steps(true, SOUND_SEEDS)) {
    const fault = await control.faultOf(order);
    if (fault === null) continue;
    throw new Error(
      `The code without any fault does not pass (${by}: ${fault}). Put that right first: now anything would kill a mutant.`,
    );
  }
  process.stdout.write(`without a fault: the search and ${SOUND_SEEDS} seeds pass\n\n${heading()}\n`);
}

async function judge(mutant: Mutant, folder: string, control: Control): Promise<Verdict> {
  if (mutant.tests !== undefined) return tryByTests(mutant, mutant.tests);
  const script = join(folder, `${mutant.name}.mjs`);
  try {
    await bundle(mutant, script);
  } catch (error) {
    return { fate: 'unfit', by: '', says: String(error), seeds: 0, seconds: 0 };
  }
  return tryMutant(script, steps(mutant.file.startsWith('src/core/'), SEEDS_MAX, mutant.mode), control);
}

async function judgeAll(folder: string, control: Control): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  const mutants = chosen();
  const left = mutants[Symbol.iterator]();
  const work = async (): Promise<void> => {
    for (const mutant of left) {
      const verdict = await judge(mutant, folder, control);
      verdicts.push(verdict);
      process.stdout.write(`${row(mutant, verdict)}\n`);
      process.stderr.write(`${verdicts.length} of ${mutants.length} tried\n`);
    }
  };
  await Promise.all(Array.from({ length: Number(values.jobs) }, work));
  return verdicts;
}

async function main(): Promise<void> {
  // Within node_modules, so that a bundle finds the libraries it needs.
  const folder = mkdtempSync(join(ROOT, 'node_modules', '.mutants-'));
  let control: Control | null = null;
  try {
    await bundle(null, join(folder, 'sound.mjs'));
    control = new Control(join(folder, 'sound.mjs'));
    await assertSound(control);
    const verdicts = await judgeAll(folder, control);
    process.stdout.write(`\n${summary(verdicts)}\n`);
    process.exitCode = verdicts.every(({ fate }) => fate === 'killed') ? 0 : 1;
  } finally {
    control?.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

await main();
