import { expect, it } from 'vitest';
import { SeedWorkerPool } from './run-many.js';
import { formatSeedTotals, unreachedGoals } from './seed-totals.js';
import { currentCommit, expectNoViolation, LONG_SEEDS, readShard, seedRuns } from './suite.js';

const part = readShard(process.env.PART, currentCommit());

it(`keeps every invariant on part ${part.index + 1} of ${part.of} of ${LONG_SEEDS} seeds`, async () => {
  const players = await SeedWorkerPool.start(2);
  try {
    const tally = await expectNoViolation(players, [...seedRuns(1, LONG_SEEDS, part)]);
    process.stdout.write(`${formatSeedTotals(tally)}\n`);
    if (part.of === 1) expect(unreachedGoals(tally)).toEqual([]);
  } finally {
    players.stop();
  }
});
