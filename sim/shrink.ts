import type { SeedResult } from './run-seed.js';
import { FAULTS, type Fault } from './scenario/faults.js';
import type { SeedRunOptions } from './scenario/scenario.js';

const AGENTS_MIN = 1;
const COMMANDS_MIN = 1;

/** Finds a smaller run that breaks the same rule: removes faults that the failure does not need, then actors, then commands. */
export async function shrink(
  failing: SeedResult,
  run: (options: SeedRunOptions) => Promise<SeedResult>,
): Promise<SeedRunOptions> {
  const rule = ruleOf(failing);
  const failsSameRule = async (options: SeedRunOptions): Promise<boolean> =>
    ruleOf(await run(options)) === rule;
  let smallest: SeedRunOptions = failing.run;
  for (const fault of FAULTS) {
    if (smallest.without?.includes(fault)) continue;
    const without: Fault[] = [...(smallest.without ?? []), fault];
    if (await failsSameRule({ ...smallest, without })) smallest = { ...smallest, without };
  }
  for (let agents_max = 8; agents_max >= AGENTS_MIN; agents_max -= 1) {
    if (await failsSameRule({ ...smallest, agents_max })) smallest = { ...smallest, agents_max };
  }
  // Bisection: a failure at the n-th command also occurs with every larger bound.
  let low = COMMANDS_MIN;
  let high = Math.min(smallest.commands_max ?? failing.commands, failing.commands);
  while (low < high) {
    const commands_max = Math.floor((low + high) / 2);
    if (await failsSameRule({ ...smallest, commands_max })) high = commands_max;
    else low = commands_max + 1;
  }
  const last = { ...smallest, commands_max: high };
  return (await failsSameRule(last)) ? last : smallest;
}

const ruleOf = ({ violation }: SeedResult): string | null => violation?.split(':')[0] ?? null;
