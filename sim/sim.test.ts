import { afterAll, beforeAll, expect, it } from 'vitest';
import { REGRESSIONS } from './regressions.js';
import { Players } from './run-many.js';
import type { RunOptions } from './scenario/scenario.js';
import { currentCommit, expectNoViolation, fixedRuns, seedRuns, WINDOW_SEEDS, windowStart } from './suite.js';
import { neverReached, summary } from './tally.js';

const JOBS = 2;
const PLAYED_AGAIN = 4;

let players: Players;
beforeAll(async () => {
  players = await Players.start(JOBS);
});
afterAll(() => players.stop());

it(`keeps every invariant on ${fixedRuns().length} fixed seeds, which reach every state worth reaching`, async () => {
  const tally = await expectNoViolation(players, fixedRuns());
  process.stdout.write(`${summary(tally)}\n`);
  expect(neverReached(tally)).toEqual([]);
});

const from = windowStart(currentCommit());
it(`keeps every invariant on ${WINDOW_SEEDS} seeds that this commit picks, from ${from}`, async () => {
  await expectNoViolation(players, [...seedRuns(from, from + WINDOW_SEEDS - 1)]);
});

it('passes every run that once failed', async () => {
  await expectNoViolation(players, REGRESSIONS);
});

it('plays a seed the same way every time, to the last event, in whichever process', async () => {
  const fingerprints = new Map<number, Set<string>>();
  const runs = [...seedRuns(1, PLAYED_AGAIN)].flatMap((run): RunOptions[] => {
    const short = { ...run, commands_max: 200 };
    return [short, short, short];
  });
  await players.play(runs, {
    onResult: ({ run, fingerprint }) => {
      fingerprints.set(run.seed, (fingerprints.get(run.seed) ?? new Set()).add(fingerprint));
    },
  });
  expect([...fingerprints.values()].map((stories) => stories.size)).toEqual(Array(PLAYED_AGAIN).fill(1));
});
