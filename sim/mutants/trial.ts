import type { Mode, SeedRunOptions } from '../scenario/scenario.js';
import { allModels } from '../search/models.js';
import { realNowMs } from '../world/determinism-guards.js';
import type { Baseline } from './baseline.js';
import { MutantProcess, violationIn } from './mutant-process.js';
import type { TrialJob } from './worker.js';

export interface MutantVerdict {
  /**
   * `killed`: the search or a simulation reported a violation or an exception, or a test failed. `unfit`: the mutant does
   * not apply to the source.
   */
  readonly outcome: 'killed' | 'survived' | 'hung' | 'crashed' | 'unfit';
  /** What found the mutant, or was running when it hung or crashed: `search`, `seed N` or `tests`; empty if nothing did. */
  readonly by: string;
  readonly message: string;
  readonly seeds: number;
  readonly seconds: number;
}

/** Most runs are short, because most faults show early. Every fifth run is long, for faults that show late. */
const COMMANDS_SHORT = 130;
const LONG_EVERY = 5;

/** The run of a seed, the same for every mutant, except for a mutant that names its only mode. */
function runOf(seed: number, only?: Mode): SeedRunOptions {
  if (only !== undefined) return { seed, mode: only };
  const mode = seed % 2 === 0 ? 'safety' : 'liveness';
  return seed % LONG_EVERY === 0 ? { seed, mode } : { seed, mode, commands_max: COMMANDS_SHORT };
}

interface TrialStep {
  readonly by: string;
  readonly seeds: number;
  readonly job: TrialJob;
}

/** The search comes first, because it checks the rules faster. It covers nothing else. */
export function* trialSteps(isSearched: boolean, seedsMax: number, only?: Mode): Generator<TrialStep> {
  const modelCount = isSearched ? allModels().length : 0;
  for (let model = 0; model < modelCount; model += 1)
    yield { by: 'search', seeds: 0, job: { model_index: model } };
  for (let seed = 1; seed <= seedsMax; seed += 1) {
    yield { by: `seed ${seed}`, seeds: seed, job: { run: runOf(seed, only) } };
  }
}

/** Tries a mutant until a run fails that passes on the unmodified code, or no seed is left. */
export async function tryMutant(
  script: string,
  steps: Iterable<TrialStep>,
  baseline: Baseline,
): Promise<MutantVerdict> {
  const startMs = realNowMs();
  const child = new MutantProcess(script);
  let seeds = 0;
  const verdict = (outcome: MutantVerdict['outcome'], by: string, message: string): MutantVerdict => {
    return { outcome, by, message, seeds, seconds: (realNowMs() - startMs) / 1000 };
  };
  try {
    for (const step of steps) {
      seeds = step.seeds;
      const reply = await child.run(step.job);
      if (typeof reply === 'string') return verdict(reply, step.by, '');
      const violation = violationIn(reply);
      if (violation === null || (await baseline.violationOf(step.job)) !== null) continue;
      return verdict('killed', step.by, violation);
    }
    return verdict('survived', '', '');
  } finally {
    child.end();
  }
}
