import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Baseline } from './baseline.js';
import { bundle, ROOT } from './bundle.js';
import { tryByTests } from './by-tests.js';
import type { Mutant } from './mutant.js';
import { MUTANTS } from './mutants.js';
import { tryRandomMutants } from './random.js';
import { heading, mutantRow, summaryText } from './report.js';
import { type MutantVerdict, trialSteps, tryMutant } from './trial.js';

/**
 * The unmodified code must pass the search and these seeds; otherwise a failure does not show that a mutant was found.
 */
const BASELINE_SEEDS = 40;
/** A number of seeds, not a time: the verdict must not depend on the load of the machine. */
const SEEDS_MAX = 600;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    jobs: { type: 'string', default: '2' },
    random: { type: 'string' },
    seed: { type: 'string', default: '1' },
  },
});

function selectedMutants(): readonly Mutant[] {
  const { only } = values;
  if (only === undefined) return MUTANTS;
  return only.split(',').map((wanted) => {
    const mutant = MUTANTS.find(({ name }) => name === wanted);
    if (mutant !== undefined) return mutant;
    const names = MUTANTS.map(({ name }) => `  ${name}`);
    throw new Error(`Unknown mutant ${wanted}. Expected one of:\n${names.join('\n')}`);
  });
}

async function assertBaselinePasses(baseline: Baseline): Promise<void> {
  for (const { by, job } of trialSteps(true, BASELINE_SEEDS)) {
    const violation = await baseline.violationOf(job);
    if (violation === null) continue;
    throw new Error(
      `The unmodified code fails (${by}: ${violation}). Fix the code first: otherwise every mutant counts as killed.`,
    );
  }
  process.stdout.write(`unmodified code: the search and ${BASELINE_SEEDS} seeds pass\n\n${heading()}\n`);
}

async function tryOne(mutant: Mutant, folder: string, baseline: Baseline): Promise<MutantVerdict> {
  if (mutant.tests !== undefined) return tryByTests(mutant, mutant.tests);
  const script = join(folder, `${mutant.name}.mjs`);
  try {
    await bundle(mutant, script);
  } catch (error) {
    return { outcome: 'unfit', by: '', message: String(error), seeds: 0, seconds: 0 };
  }
  return tryMutant(script, trialSteps(mutant.file.startsWith('src/core/'), SEEDS_MAX, mutant.mode), baseline);
}

async function tryAll(folder: string, baseline: Baseline): Promise<MutantVerdict[]> {
  const verdicts: MutantVerdict[] = [];
  const mutants = selectedMutants();
  const remaining = mutants[Symbol.iterator]();
  const tryRemaining = async (): Promise<void> => {
    for (const mutant of remaining) {
      const verdict = await tryOne(mutant, folder, baseline);
      verdicts.push(verdict);
      process.stdout.write(`${mutantRow(mutant, verdict)}\n`);
      process.stderr.write(`${verdicts.length} of ${mutants.length} tried\n`);
    }
  };
  await Promise.all(Array.from({ length: Number(values.jobs) }, tryRemaining));
  return verdicts;
}

async function tryTables(): Promise<void> {
  // Inside node_modules, so that a bundle finds its libraries.
  const folder = mkdtempSync(join(ROOT, 'node_modules', '.mutants-'));
  let baseline: Baseline | null = null;
  try {
    await bundle(null, join(folder, 'sound.mjs'));
    baseline = new Baseline(join(folder, 'sound.mjs'));
    await assertBaselinePasses(baseline);
    const verdicts = await tryAll(folder, baseline);
    process.stdout.write(`\n${summaryText(verdicts)}\n`);
    process.exitCode = verdicts.every(({ outcome }) => outcome === 'killed') ? 0 : 1;
  } finally {
    baseline?.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

const { random, seed, jobs } = values;
if (random === undefined) await tryTables();
else await tryRandomMutants({ count: Number(random), seed, jobs: Number(jobs) });
