import { expect, it } from 'vitest';
import { runMany } from '../run-many.js';
import type { SeedResult } from '../seed-result.js';
import { currentCommit, describeFailure, readPart, seedRuns } from '../suite.js';

const SEEDS = 400;
const part = readPart(process.env.PART, currentCommit());

it(`keeps the invariants of runs on part ${part.index + 1} of ${part.count} of ${SEEDS} seeds`, async () => {
  const runs = [...seedRuns(1, SEEDS, part)].map(({ seed }) => ({ seed, mode: 'runs' as const }));
  const results: SeedResult[] = [];
  await runMany(runs, { jobs: 2, onResult: (result) => results.push(result) });
  expect(results).toHaveLength(runs.length);
  expect(results.filter(({ violation }) => violation !== null).map(describeFailure)).toEqual([]);
});
