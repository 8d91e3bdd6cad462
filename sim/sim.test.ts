import { afterAll, beforeAll, expect, it } from 'vitest';
import { REGRESSIONS } from './regressions.js';
import { describeRun } from './replay.js';
import { Players } from './run-many.js';
import type { SeedResult } from './run-seed.js';
import { COMMANDS, type RunOptions } from './scenario/scenario.js';
import { count, emptyTally, neverReached, summary } from './tally.js';

/** For what hangs: on a busy machine all this takes many times as long as on an idle one. */
const TIMEOUT_MS = 30 * 60_000;
const JOBS = 2;
const SEEDS = 2_000;

let players: Players;
beforeAll(async () => {
  players = await Players.start(JOBS);
});
afterAll(() => players.stop());

function* standardRuns(): Generator<RunOptions> {
  for (let seed = 1; seed <= SEEDS; seed += 1) yield { seed, mode: seed % 2 === 0 ? 'safety' : 'liveness' };
}

it(
  'keeps every invariant on 2,000 seeds of at least 500 commands, and meets every state worth meeting',
  async () => {
    const tally = emptyTally();
    const cut_short: number[] = [];
    await players.play(standardRuns(), {
      onResult: (result) => {
        count(tally, result);
        if (result.violation === null && result.commands < COMMANDS) cut_short.push(result.run.seed);
      },
      goesOn: () => tally.failures.length === 0,
    });
    process.stdout.write(`${summary(tally)}\n`);
    expect(tally.failures.map((failure) => `${describeRun(failure.run)}\n${failure.violation}`)).toEqual([]);
    expect(tally.seeds).toBe(SEEDS);
    expect(cut_short).toEqual([]);
    expect(neverReached(tally)).toEqual([]);
  },
  TIMEOUT_MS,
);

it(
  'tells the same story twice, to the last event, in whichever process',
  async () => {
    const told = new Map<number, Set<string>>();
    const runs = [1, 2, 3, 4, 5, 6, 7, 8].flatMap((seed): RunOptions[] => {
      const run: RunOptions = { seed, mode: seed % 2 === 0 ? 'safety' : 'liveness', commands_max: 200 };
      return [run, run, run];
    });
    await players.play(runs, {
      onResult: ({ run, fingerprint }) => {
        told.set(run.seed, (told.get(run.seed) ?? new Set()).add(fingerprint));
      },
    });
    expect([...told.values()].map((stories) => stories.size)).toEqual(
      runs.filter((_, at) => at % 3 === 0).map(() => 1),
    );
  },
  TIMEOUT_MS,
);

it(
  'does not fail again where it once failed',
  async () => {
    const failures: SeedResult[] = [];
    await players.play(REGRESSIONS, {
      onResult: (result) => {
        if (result.violation !== null) failures.push(result);
      },
    });
    expect(failures.map((failure) => `${describeRun(failure.run)}\n${failure.violation}`)).toEqual([]);
  },
  TIMEOUT_MS,
);
