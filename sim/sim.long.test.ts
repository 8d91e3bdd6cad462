import { expect, it } from 'vitest';
import { Players } from './run-many.js';
import { currentCommit, expectNoViolation, LONG_SEEDS, readPart, seedRuns } from './suite.js';
import { neverReached, summary } from './tally.js';

const part = readPart(process.env.PART, currentCommit());

it(`keeps every invariant on part ${part.index + 1} of ${part.of} of ${LONG_SEEDS} seeds`, async () => {
  const players = await Players.start(2);
  try {
    const tally = await expectNoViolation(players, [...seedRuns(1, LONG_SEEDS, part)]);
    process.stdout.write(`${summary(tally)}\n`);
    if (part.of === 1) expect(neverReached(tally)).toEqual([]);
  } finally {
    players.stop();
  }
});
