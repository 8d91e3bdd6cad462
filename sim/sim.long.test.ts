import { expect, it } from 'vitest';
import { SeedWorkerPool } from './run-many.js';
import { formatSeedTotals, unreachedGoals } from './seed-totals.js';
import { currentCommit, expectNoViolation, LONG_SEEDS, readShard, seedRuns } from './suite.js';

const shard = readShard(process.env.PART, currentCommit());

it(`keeps every invariant on part ${shard.index + 1} of ${shard.count} of ${LONG_SEEDS} seeds`, async () => {
  const players = await SeedWorkerPool.start(2);
  try {
    const totals = await expectNoViolation(players, [...seedRuns(1, LONG_SEEDS, shard)]);
    process.stdout.write(`${formatSeedTotals(totals)}\n`);
    if (shard.count === 1) expect(unreachedGoals(totals)).toEqual([]);
  } finally {
    players.stop();
  }
});
