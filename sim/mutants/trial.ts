import type { Mode, RunOptions } from '../scenario/scenario.js';
import { allWorlds } from '../search/world.js';
import { realNowMs } from '../world/traps.js';
import { Child, faultIn } from './child.js';
import type { Control } from './control.js';
import type { Order } from './worker.js';

export interface Verdict {
  /** Only a violation, an exception or a deadlock that the simulation reports kills a mutant. `unfit`: it does not apply. */
  readonly fate: 'killed' | 'survived' | 'hung' | 'crashed' | 'unfit';
  /** What found it: `search`, or `seed N`; what it was busy with when it hung or crashed. */
  readonly by: string;
  readonly says: string;
  readonly seeds: number;
  readonly seconds: number;
}

/** Most faults show early: most runs are short, and some are long for what comes late. */
const COMMANDS_SHORT = 130;
const LONG_EVERY = 5;

/** The same run for the same seed, whatever is tried on it. */
function runOf(seed: number, only?: Mode): RunOptions {
  if (only !== undefined) return { seed, mode: only };
  const mode = seed % 2 === 0 ? 'safety' : 'liveness';
  return seed % LONG_EVERY === 0 ? { seed, mode } : { seed, mode, commands_max: COMMANDS_SHORT };
}

export interface Step {
  readonly by: string;
  readonly seeds: number;
  readonly order: Order;
}

/** The search first, since it is the faster judge of the rules; it knows of nothing else. */
export function* steps(isSearched: boolean, seeds_max: number, only?: Mode): Generator<Step> {
  const worlds = isSearched ? allWorlds().length : 0;
  for (let world = 0; world < worlds; world += 1) yield { by: 'search', seeds: 0, order: { world } };
  for (let seed = 1; seed <= seeds_max; seed += 1) {
    yield { by: `seed ${seed}`, seeds: seed, order: { run: runOf(seed, only) } };
  }
}

/** Tries a mutant until something is found wrong with it that is not wrong without it, or no seed is left. */
export async function tryMutant(script: string, trial: Iterable<Step>, control: Control): Promise<Verdict> {
  const began_ms = realNowMs();
  const child = new Child(script);
  let seeds = 0;
  const verdict = (fate: Verdict['fate'], by: string, says: string): Verdict => {
    return { fate, by, says, seeds, seconds: (realNowMs() - began_ms) / 1000 };
  };
  try {
    for (const step of trial) {
      seeds = step.seeds;
      const answer = await child.ask(step.order);
      if (typeof answer === 'string') return verdict(answer, step.by, '');
      const fault = faultIn(answer);
      if (fault === null || (await control.faultOf(step.order)) !== null) continue;
      return verdict('killed', step.by, fault);
    }
    return verdict('survived', '', '');
  } finally {
    child.end();
  }
}
