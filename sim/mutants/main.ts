import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundle, ROOT } from './bundle.js';
import type { Mutant } from './mutant.js';
import { MUTANTS } from './mutants.js';
import { heading, row, summary } from './report.js';
import { type TrialLimits, tryBundle, type Verdict } from './trial.js';

/** The code as it is must pass these, or whatever is wrong with the simulation would kill every mutant. */
const SOUND: TrialLimits = { seeds_max: 40, trial_ms_max: 300_000 };
const LIMITS: TrialLimits = { seeds_max: 2_000, trial_ms_max: 300_000 };

const { values } = parseArgs({
  options: { only: { type: 'string' }, jobs: { type: 'string', default: '2' } },
});

function chosen(): readonly Mutant[] {
  const { only } = values;
  if (only === undefined) return MUTANTS;
  const found = MUTANTS.filter(({ name }) => name === only);
  if (found.length === 0) {
    throw new Error(
      `There is no mutant ${only}. There are:\n${MUTANTS.map(({ name }) => `  ${name}`).join('\n')}`,
    );
  }
  return found;
}

async function tryMutant(mutant: Mutant, folder: string): Promise<Verdict> {
  const script = join(folder, `${mutant.name}.mjs`);
  try {
    await bundle(mutant, script);
  } catch (error) {
    return { fate: 'unfit', by: '', says: String(error), seeds: 0, seconds: 0 };
  }
  return tryBundle(script, mutant.file.startsWith('src/core/'), LIMITS);
}

async function assertSound(folder: string): Promise<void> {
  const script = join(folder, 'sound.mjs');
  await bundle(null, script);
  const { fate, by, says, seconds } = await tryBundle(script, true, SOUND);
  if (fate !== 'survived' || says !== '') {
    throw new Error(
      `The code without any fault does not pass (${fate}, ${by} ${says}). Put that right first: now anything would kill a mutant.`,
    );
  }
  process.stdout.write(
    `without a fault: the search and ${SOUND.seeds_max} seeds pass, ${seconds.toFixed(0)} s\n\n`,
  );
}

async function tryAll(mutants: readonly Mutant[], folder: string): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  const left = mutants[Symbol.iterator]();
  const work = async (): Promise<void> => {
    for (const mutant of left) {
      const verdict = await tryMutant(mutant, folder);
      verdicts.push(verdict);
      process.stdout.write(`${row(mutant, verdict)}\n`);
    }
  };
  await Promise.all(Array.from({ length: Number(values.jobs) }, work));
  return verdicts;
}

async function main(): Promise<void> {
  const mutants = chosen();
  // Within node_modules, so that a bundle finds the libraries it needs.
  const folder = mkdtempSync(join(ROOT, 'node_modules', '.mutants-'));
  try {
    await assertSound(folder);
    process.stdout.write(`${heading()}\n`);
    const verdicts = await tryAll(mutants, folder);
    process.stdout.write(`\n${summary(verdicts)}\n`);
    process.exitCode = verdicts.every(({ fate }) => fate === 'killed') ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

await main();
