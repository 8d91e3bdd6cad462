import { expect, it } from 'vitest';
import { runMany } from '../run-many.js';
import type { SeedRunOptions } from '../scenario/scenario.js';
import type { SeedResult } from '../seed-result.js';
import { currentCommit, describeFailure, windowStart } from '../suite.js';

const FIXED_SEEDS = 3;
const MOVING_SEEDS = 2;
const PLAYED_TWICE = 1;

const inboxRuns = (from: number, count: number): SeedRunOptions[] =>
  Array.from({ length: count }, (_, index) => ({ seed: from + index, mode: 'inbox' }));

it('executes every command exactly once despite crashes and power failures, and replays a seed exactly', async () => {
  const first = inboxRuns(1, FIXED_SEEDS);
  const moving = inboxRuns(windowStart(currentCommit()), MOVING_SEEDS);
  const again = inboxRuns(1, PLAYED_TWICE);
  const results: SeedResult[] = [];
  await runMany([...first, ...moving, ...again], { jobs: 1, onResult: (result) => results.push(result) });
  expect(results.filter(({ violation }) => violation !== null).map(describeFailure)).toEqual([]);
  const [one, two] = [results.slice(0, PLAYED_TWICE), results.slice(-PLAYED_TWICE)];
  expect(two.map(({ fingerprint }) => fingerprint)).toEqual(one.map(({ fingerprint }) => fingerprint));
});
