import { expect, it } from 'vitest';
import { runMany } from '../run-many.js';
import type { SeedRunOptions } from '../scenario/scenario.js';
import { addSeedResult, emptySeedTotals } from '../seed-totals.js';
import { describeFailure } from '../suite.js';

/** The search over other seeds is `runs.long.test.ts`; seed 4370079 is known to leave a run open (L1). */
const SEEDS = 3;

const runsOf = (from: number, count: number): SeedRunOptions[] =>
  Array.from({ length: count }, (_, index) => ({ seed: from + index, mode: 'runs' }));

it('keeps the invariants of runs when executors crash, are late and take edges over', async () => {
  const runs = runsOf(1, SEEDS);
  const totals = emptySeedTotals();
  await runMany(runs, { jobs: 1, onResult: (result) => addSeedResult(totals, result) });
  expect(totals.failures.map(describeFailure)).toEqual([]);
  expect(totals.seeds).toBe(runs.length);
});
