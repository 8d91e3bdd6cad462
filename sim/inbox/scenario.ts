import { DEFAULT_LIMITS, type Limits } from '../../src/core/claims/policy.js';
import type { Fault } from '../scenario/faults.js';
import type { SeedRunOptions } from '../scenario/scenario.js';
import { Rng } from '../world/rng.js';

/** The parameters of an inbox run; all follow from the seed. */
export interface InboxScenario {
  readonly agents: number;
  /** Total over all agents. */
  readonly commands: number;
  /** Maximum number of commands that an agent writes at once. */
  readonly burst_max: number;
  readonly think_ms: number;
  readonly lease_seconds: number;
  readonly policy: Readonly<Record<string, unknown>>;
  readonly limits: Limits;
  readonly segment_bytes_max: number;
  /** Mean time between random crashes; null: none. */
  readonly crash_every_ms: number | null;
  /** Chance, per step of a command, that the process dies there or just after. */
  readonly ambush_chance: number;
  /** Chance that a crash is also a power loss. */
  readonly power_chance: number;
  readonly write_failure_chance: number;
  readonly sync_failure_chance: number;
  readonly disk_full_every_ms: number | null;
}

const COMMANDS = 40;
const FAULT_CHANCE = 0.75;

export function inboxScenarioOf(options: SeedRunOptions): InboxScenario {
  const rng = new Rng(`inbox ${options.seed}`);
  const without = new Set<Fault>(options.without ?? []);
  const faultRng = rng.fork('faults');
  const hasFault = (fault: Fault, chance = FAULT_CHANCE): boolean =>
    faultRng.fork(fault).chance(chance) && !without.has(fault);
  const agents = 2 + rng.int(5);
  const lease_seconds = rng.pick([2, 5, 20]);
  return {
    agents: Math.min(agents, options.agents_max ?? agents),
    commands: options.commands_max ?? COMMANDS,
    burst_max: rng.pick([1, 3, 8]),
    think_ms: rng.pick([20, 100, 500]),
    lease_seconds,
    policy: {
      stale_policy: { task: 'takeover', edge: rng.pick(['takeover', 'hold']) },
      max_hold_seconds: rng.chance(0.5) ? lease_seconds * 2 : null,
      stale_threshold_seconds: lease_seconds,
      claim_ttl_seconds: lease_seconds,
    },
    limits: {
      ...DEFAULT_LIMITS,
      min_lease_duration_seconds: 1,
      max_concurrent_claims: rng.pick([3, 100]),
    },
    segment_bytes_max: rng.pick([5_000, 1_000_000]),
    crash_every_ms: hasFault('crash') ? rng.pick([100, 400, 2000]) : null,
    ambush_chance: hasFault('ambush') ? rng.pick([0.01, 0.05]) : 0,
    power_chance: hasFault('power') ? rng.pick([0.3, 0.9]) : 0,
    write_failure_chance: hasFault('write_failure', 0.3) ? 0.01 : 0,
    sync_failure_chance: hasFault('sync_failure', 0.2) ? 0.002 : 0,
    disk_full_every_ms: hasFault('disk_full', 0.3) ? 2000 : null,
  };
}
