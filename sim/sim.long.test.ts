import { afterAll, beforeAll, expect, it } from 'vitest';
import { isShort, REGRESSIONS } from './regressions.js';
import { SeedWorkerPool } from './run-many.js';
import { formatSeedTotals, unreachedGoals } from './seed-totals.js';
import { currentCommit, expectNoViolation, LONG_SEEDS, readPart, seedRuns } from './suite.js';

const part = readPart(process.env.PART, currentCommit());

let pool: SeedWorkerPool;
beforeAll(async () => {
  pool = await SeedWorkerPool.start(2);
});
afterAll(() => pool.stop());

it(`keeps every invariant on part ${part.index + 1} of ${part.count} of ${LONG_SEEDS} seeds`, async () => {
  const totals = await expectNoViolation(pool, [...seedRuns(1, LONG_SEEDS, part)]);
  process.stdout.write(`${formatSeedTotals(totals)}\n`);
  if (part.count === 1) expect(unreachedGoals(totals)).toEqual([]);
});

it('passes the long runs that failed in the past', async () => {
  await expectNoViolation(
    pool,
    REGRESSIONS.filter((run) => !isShort(run)),
  );
});
