import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { transform } from 'esbuild';
import { Rng } from '../world/rng.js';
import { ROOT } from './bundle.js';
import { tryByTests } from './by-tests.js';
import { mutantsOf } from './flips.js';
import { type Mutant, mutate } from './mutant.js';
import { importGraphOf, reachingTests } from './reaching-tests.js';

/** The folders whose files are mutated. */
const FOLDERS = ['src/core', 'src/coordinator', 'src/stores/file'];
/** Files that only tests execute: the tests themselves, their fixtures, and the programs that they start. */
const UNMUTATED_FILES = /\.test\.ts$|\btesting\b|\.child\.ts$/;
/** Ends a mutant that loops for ever. All tests of the unmodified code take less, also on a busy machine. */
const TRIAL_TIMEOUT_MS = 10 * 60_000;

interface RandomRun {
  readonly count: number;
  readonly seed: string;
  readonly jobs: number;
}

/** Flips operators and constants at random places, and lists the mutants that no unit test finds. */
export async function tryRandomMutants({ count, seed, jobs }: RandomRun): Promise<void> {
  const files = FOLDERS.flatMap(typescriptFilesIn).sort();
  const tests = files.filter((file) => file.endsWith('.test.ts') && !file.endsWith('.long.test.ts'));
  const graph = await importGraphOf(tests);
  const mutants = await pickMutants(files, count, seed);
  process.stdout.write(`${mutants.length} mutants, seed ${seed}\n`);
  const survivors: Mutant[] = [];
  const baseline = new TestBaseline();
  const remaining = mutants[Symbol.iterator]();
  const tryRemaining = async (): Promise<void> => {
    for (const mutant of remaining) {
      const reaching = reachingTests(graph, tests, mutant.file);
      const howFound = await tryToFind(mutant, reaching, baseline);
      if (howFound === null) survivors.push(mutant);
      const outcomeText = howFound ?? `survived ${reaching.length} test files`;
      process.stdout.write(`${mutant.name}  ${mutant.harm}  ${outcomeText}\n`);
    }
  };
  await Promise.all(Array.from({ length: jobs }, tryRemaining));
  process.stdout.write(`\n${mutants.length - survivors.length} of ${mutants.length} killed. Survivors:\n`);
  for (const { name, harm } of survivors) process.stdout.write(`${name}  ${harm}\n`);
}

function typescriptFilesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`);
}

/** The first of all mutants in a random order that compile; always the same for a seed and a source. */
async function pickMutants(files: readonly string[], count: number, seed: string): Promise<Mutant[]> {
  const rng = new Rng(`random mutants ${seed}`);
  const sources = new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));
  const all = [...sources].flatMap(([file, text]) =>
    UNMUTATED_FILES.test(file) ? [] : mutantsOf(file, text),
  );
  const picked: Mutant[] = [];
  while (picked.length < count && all.length > 0) {
    const [mutant] = all.splice(rng.int(all.length), 1) as [Mutant];
    if (await isCompilable(mutate(sources.get(mutant.file) ?? '', mutant))) picked.push(mutant);
  }
  return picked;
}

const isCompilable = (text: string): Promise<boolean> =>
  transform(text, { loader: 'ts', logLevel: 'silent' }).then(
    () => true,
    () => false,
  );

/** Runs the tests on the mutant. Returns how it was found (killed, hung, crashed); null if it was not, or without tests. */
async function tryToFind(
  mutant: Mutant,
  tests: readonly string[],
  baseline: TestBaseline,
): Promise<string | null> {
  if (tests.length === 0) return null;
  const { outcome, message, seconds } = await tryByTests(mutant, tests, TRIAL_TIMEOUT_MS);
  if (outcome === 'survived') return null;
  const [test] = message.split(' ');
  if (outcome === 'killed' && test !== undefined) await baseline.expectPasses(test);
  return `${outcome} after ${seconds.toFixed(0)} s  ${message}`;
}

/** Runs tests on the unmodified code: a test that fails there too has not found a mutant. */
class TestBaseline {
  private readonly verdicts = new Map<string, ReturnType<typeof tryByTests>>();

  async expectPasses(test: string): Promise<void> {
    const verdict = this.verdicts.get(test) ?? tryByTests(null, [test]);
    this.verdicts.set(test, verdict);
    const { outcome, message } = await verdict;
    if (outcome !== 'survived')
      throw new Error(`The unmodified code fails (${message}). Fix the code first.`);
  }
}
