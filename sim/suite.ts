import { execFileSync } from 'node:child_process';
import { expect } from 'vitest';
import { replayCommand } from './replay.js';
import type { SeedWorkerPool } from './run-many.js';
import { COMMANDS, type SeedRunOptions } from './scenario/scenario.js';
import type { SeedResult } from './seed-result.js';
import { addSeedResult, emptySeedTotals, type SeedTotals } from './seed-totals.js';

/** Seeds that `npm test` always plays: together they reach every goal in `checks/coverage.ts`. */
const FIXED_SEEDS = [1, 2, 4, 8, 9, 13, 23, 33, 50, 62, 82, 133, 192, 266, 342];
/** `npm run test:long` plays the seeds up to this one. */
export const LONG_SEEDS = 2_000;
/** `npm test` also runs this many seeds, chosen by the commit hash. */
export const WINDOW_SEEDS = 2;
const WINDOW_COUNT = 1_000_000;

/** First seed of the window that the commit selects: beyond the long seeds, and always the same for a commit. */
export const windowStart = (commit: string): number =>
  LONG_SEEDS + 1 + (Number.parseInt(commit.slice(0, 8), 16) % WINDOW_COUNT) * WINDOW_SEEDS;

/** The commit that is checked out; a constant without git, as in a downloaded archive. */
export function currentCommit(): string {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch {
    return '00000000';
  }
}

interface SuitePart {
  /** Counted from 0. */
  readonly index: number;
  readonly count: number;
}

/** Parses `2/8`, the second of eight parts, or `auto/8`, the one that the commit selects. Without text: everything. */
export function readPart(text: string | undefined, commit: string): SuitePart {
  if (text === undefined || text === '') return { index: 0, count: 1 };
  const [, selected = '', countText = ''] = /^(auto|[1-9]\d*)\/([1-9]\d*)$/.exec(text) ?? [];
  const count = Number(countText);
  const index = selected === 'auto' ? Number.parseInt(commit.slice(0, 8), 16) % count : Number(selected) - 1;
  if (countText === '' || index >= count)
    throw new Error(`PART is ${text}. Pass a part such as 2/8, or auto/8.`);
  return { index, count };
}

export function* seedRuns(
  from: number,
  to: number,
  part: SuitePart = { index: 0, count: 1 },
): Generator<SeedRunOptions> {
  for (let seed = from; seed <= to; seed += 1) {
    // Odd and even seeds have different modes, so parts take pairs.
    if (Math.floor(seed / 2) % part.count !== part.index) continue;
    yield { seed, mode: seed % 2 === 0 ? 'safety' : 'liveness' };
  }
}

export const fixedRuns = (): SeedRunOptions[] => FIXED_SEEDS.flatMap((seed) => [...seedRuns(seed, seed)]);

/** Plays runs to their end or to the first violation, and expects none. */
export async function expectNoViolation(
  pool: SeedWorkerPool,
  runs: readonly SeedRunOptions[],
): Promise<SeedTotals> {
  const totals = emptySeedTotals();
  const seedsCutShort: number[] = [];
  await pool.run(runs, {
    onResult: (result) => {
      addSeedResult(totals, result);
      const { mode, commands_max = COMMANDS } = result.run;
      // In the modes `inbox` and `runs` the actors choose how many commands they send.
      const commandsMin = mode === 'inbox' || mode === 'runs' ? 1 : commands_max;
      if (result.violation === null && result.commands < commandsMin) seedsCutShort.push(result.run.seed);
    },
    shouldContinue: () => totals.failures.length === 0,
  });
  expect(totals.failures.map(describeFailure)).toEqual([]);
  expect(totals.seeds).toBe(runs.length);
  expect(seedsCutShort).toEqual([]);
  return totals;
}

export const describeFailure = ({ run, violation }: SeedResult): string =>
  `${replayCommand(run)}\n${violation}`;
