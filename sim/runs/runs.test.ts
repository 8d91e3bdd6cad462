import { expect, it } from 'vitest';
import { runMany } from '../run-many.js';
import type { SeedRunOptions } from '../scenario/scenario.js';
import { addSeedResult, emptySeedTotals } from '../seed-totals.js';
import { currentCommit, describeFailure, windowStart } from '../suite.js';

const FIXED_SEEDS = 3;
const MOVING_SEEDS = 1;

const runsOf = (from: number, count: number): SeedRunOptions[] =>
  Array.from({ length: count }, (_, index) => ({ seed: from + index, mode: 'runs' }));

it('keeps the invariants of runs when executors crash, are late and take edges over', async () => {
  const runs = [...runsOf(1, FIXED_SEEDS), ...runsOf(windowStart(currentCommit()), MOVING_SEEDS)];
  const totals = emptySeedTotals();
  await runMany(runs, { jobs: 1, onResult: (result) => addSeedResult(totals, result) });
  expect(totals.failures.map(describeFailure)).toEqual([]);
  expect(totals.seeds).toBe(runs.length);
});
