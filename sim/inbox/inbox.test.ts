import { expect, it } from 'vitest';
import { describeRun } from '../replay.js';
import { runMany } from '../run-many.js';
import type { RunOptions } from '../scenario/scenario.js';
import type { SeedResult } from '../seed-result.js';

/** For what hangs: on a busy machine all this takes many times as long as on an idle one. */
const TIMEOUT_MS = 30 * 60_000;
const SEEDS = 100;
const TOLD_TWICE = 3;

function* runs(): Generator<RunOptions> {
  for (let seed = 1; seed <= SEEDS; seed += 1) yield { seed, mode: 'inbox' };
  for (let seed = 1; seed <= TOLD_TWICE; seed += 1) yield { seed, mode: 'inbox' };
}

it(
  `loses no command and doubles none on ${SEEDS} seeds of crashes and losses of power, and tells each story twice alike`,
  async () => {
    const results: SeedResult[] = [];
    await runMany(runs(), { jobs: 1, onResult: (result) => results.push(result) });
    const failed = results.filter(({ violation }) => violation !== null);
    expect(failed.map(({ run, violation }) => `${describeRun(run)}\n${violation}`)).toEqual([]);
    for (const { run, fingerprint } of results.slice(SEEDS)) {
      expect(results.find((first) => first.run.seed === run.seed)?.fingerprint).toBe(fingerprint);
    }
  },
  TIMEOUT_MS,
);
