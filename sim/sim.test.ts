import { afterAll, beforeAll, expect, it } from 'vitest';
import { isShort, REGRESSIONS } from './regressions.js';
import { SeedWorkerPool } from './run-many.js';
import type { SeedRunOptions } from './scenario/scenario.js';
import { formatSeedTotals, unreachedGoals } from './seed-totals.js';
import { currentCommit, expectNoViolation, fixedRuns, seedRuns, WINDOW_SEEDS, windowStart } from './suite.js';

const JOBS = 2;
const REPLAYED_SEEDS = 2;

let pool: SeedWorkerPool;
beforeAll(async () => {
  pool = await SeedWorkerPool.start(JOBS);
});
afterAll(() => pool.stop());

// req: PRF-008
it(`keeps every invariant on ${fixedRuns().length} fixed seeds, which reach every coverage goal`, async () => {
  const totals = await expectNoViolation(pool, fixedRuns());
  process.stdout.write(`${formatSeedTotals(totals)}\n`);
  expect(unreachedGoals(totals)).toEqual([]);
});

const from = windowStart(currentCommit());
it(`keeps every invariant on ${WINDOW_SEEDS} seeds that this commit selects, from ${from}`, async () => {
  await expectNoViolation(pool, [...seedRuns(from, from + WINDOW_SEEDS - 1)]);
});

it('passes the short runs that failed in the past', async () => {
  await expectNoViolation(pool, REGRESSIONS.filter(isShort));
});

it('replays a seed identically to the last event in every process', async () => {
  const fingerprints = new Map<number, Set<string>>();
  const runs = [...seedRuns(1, REPLAYED_SEEDS)].flatMap((run): SeedRunOptions[] => {
    const short = { ...run, commands_max: 200 };
    return [short, short, short];
  });
  await pool.run(runs, {
    onResult: ({ run, fingerprint }) => {
      fingerprints.set(run.seed, (fingerprints.get(run.seed) ?? new Set()).add(fingerprint));
    },
  });
  expect([...fingerprints.values()].map((prints) => prints.size)).toEqual(Array(REPLAYED_SEEDS).fill(1));
});
