import { expect, it } from 'vitest';
import { runMany } from '../run-many.js';
import type { SeedRunOptions } from '../scenario/scenario.js';
import type { SeedResult } from '../seed-result.js';
import { currentCommit, describeFailure, windowStart } from '../suite.js';

const FIXED_SEEDS = 3;
const MOVING_SEEDS = 2;
const REPLAYED_SEEDS = 1;

const inboxRuns = (from: number, count: number): SeedRunOptions[] =>
  Array.from({ length: count }, (_, index) => ({ seed: from + index, mode: 'inbox' }));

it('executes every command exactly once despite crashes and power failures, and replays a seed exactly', async () => {
  const fixed = inboxRuns(1, FIXED_SEEDS);
  const moving = inboxRuns(windowStart(currentCommit()), MOVING_SEEDS);
  const replayed = inboxRuns(1, REPLAYED_SEEDS);
  const results: SeedResult[] = [];
  await runMany([...fixed, ...moving, ...replayed], { jobs: 1, onResult: (result) => results.push(result) });
  expect(results.filter(({ violation }) => violation !== null).map(describeFailure)).toEqual([]);
  const [firstResults, replayedResults] = [results.slice(0, REPLAYED_SEEDS), results.slice(-REPLAYED_SEEDS)];
  expect(replayedResults.map(({ fingerprint }) => fingerprint)).toEqual(
    firstResults.map(({ fingerprint }) => fingerprint),
  );
});
