import { parseArgs } from 'node:util';
import { replayCommand } from './replay.js';
import { runMany } from './run-many.js';
import { runSeed, type SeedResult } from './run-seed.js';
import { FAULTS, type Fault } from './scenario/faults.js';
import type { Mode, SeedRunOptions } from './scenario/scenario.js';
import { addSeedResult, emptySeedTotals, formatSeedTotals } from './seed-totals.js';
import { shrink } from './shrink.js';
import { realNowMs } from './world/determinism-guards.js';

const PROGRESS_EVERY_MS = 2000;
const SHRUNK_FAILURES_MAX = 3;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    mode: { type: 'string' },
    jobs: { type: 'string', default: '2' },
    trace: { type: 'boolean', default: false },
    without: { type: 'string' },
    agents: { type: 'string' },
    commands: { type: 'string' },
  },
});

const MODES: readonly Mode[] = ['safety', 'liveness', 'inbox', 'runs'];
const modeOption = MODES.find((mode) => mode === values.mode);
const modes: readonly Mode[] = modeOption === undefined ? ['safety', 'liveness', 'runs'] : [modeOption];

/** The options of a run from the command line, except seed and mode. */
function runOverrides(): Omit<SeedRunOptions, 'seed' | 'mode'> {
  const without = (values.without?.split(',') ?? []) as Fault[];
  const unknownFault = without.find((fault) => !FAULTS.includes(fault));
  if (unknownFault !== undefined)
    throw new Error(`Unknown fault ${unknownFault}. Expected one of: ${FAULTS.join(', ')}.`);
  return {
    ...(without.length > 0 ? { without } : {}),
    ...(values.agents === undefined ? {} : { agents_max: Number(values.agents) }),
    ...(values.commands === undefined ? {} : { commands_max: Number(values.commands) }),
  };
}

async function replayOne(seed: number): Promise<SeedResult[]> {
  const failures: SeedResult[] = [];
  for (const mode of modes) {
    const onTrace = values.trace ? (line: string) => process.stdout.write(`${line}\n`) : undefined;
    const result = await runSeed({
      seed,
      mode,
      ...runOverrides(),
      ...(onTrace === undefined ? {} : { onTrace }),
    });
    const { topology, commands, steps, fingerprint, violation } = result;
    process.stdout.write(
      `${replayCommand({ seed, mode, ...runOverrides() })}\n  ${topology}, ${commands} commands, ${steps} steps\n`,
    );
    process.stdout.write(`  fingerprint ${fingerprint}\n  ${violation ?? 'no violation'}\n`);
    if (violation !== null) failures.push(result);
  }
  return failures;
}

function* selectedRuns(): Generator<SeedRunOptions> {
  const firstSeed = Number(values.from);
  for (let seed = firstSeed; seed < firstSeed + Number(values.seeds); seed += 1) {
    for (const mode of modes) yield { seed, mode, ...runOverrides() };
  }
}

async function runManySeeds(): Promise<SeedResult[]> {
  const totals = emptySeedTotals();
  const total = Number(values.seeds) * modes.length;
  let lastProgressMs = realNowMs();
  await runMany(selectedRuns(), {
    jobs: Number(values.jobs),
    onResult: (result) => {
      addSeedResult(totals, result);
      if (result.violation !== null) {
        process.stdout.write(`${replayCommand(result.run)}\n    ${result.violation}\n`);
      }
      if (realNowMs() - lastProgressMs < PROGRESS_EVERY_MS) return;
      lastProgressMs = realNowMs();
      process.stderr.write(`${totals.seeds} of ${total} runs, ${totals.failures.length} violations\n`);
    },
  });
  process.stdout.write(`${formatSeedTotals(totals)}\n`);
  return totals.failures;
}

async function main(): Promise<void> {
  const failures = values.seed === undefined ? await runManySeeds() : await replayOne(Number(values.seed));
  for (const failure of failures.slice(0, SHRUNK_FAILURES_MAX)) {
    if (values.trace) break;
    const smallest = await shrink(failure, runSeed);
    process.stdout.write(`smallest run that breaks the same rule: ${replayCommand(smallest)} --trace\n`);
  }
  process.exitCode = failures.length > 0 ? 1 : 0;
}

await main();
