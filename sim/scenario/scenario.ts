import { DEFAULT_LIMITS, type Limits } from '../../src/core/claims/policy.js';
import { Rng } from '../world/rng.js';
import type { Fault } from './faults.js';
import { planFor, type SimPlan } from './plan.js';

/**
 * `inbox`: agents move files for a serialiser; in the other modes they call coordinators over a network. `safety`: nothing
 * wrong may happen. `liveness`: in addition, when the faults have ended, all work must be completed. `runs`: executors run
 * the edges of a configured project; when the faults have ended, every run must end.
 */
export type Mode = 'safety' | 'liveness' | 'inbox' | 'runs';
export type SimTopology = 'file' | 'shared';

/** The input of a run; everything else follows from the seed. */
export interface SeedRunOptions {
  readonly seed: number;
  readonly mode: Mode;
  readonly without?: readonly Fault[];
  readonly agents_max?: number;
  readonly commands_max?: number;
  readonly onTrace?: (line: string) => void;
}

/** Frequencies of faults. `…_every_ms` are mean times in milliseconds of virtual time; null: never. */
interface Rates {
  readonly loss_chance: number;
  readonly double_chance: number;
  readonly delay_chance: number;
  readonly link_failure_chance: number;
  readonly write_failure_chance: number;
  readonly sync_failure_chance: number;
  /** Chance that a sync takes much longer than usual. */
  readonly stall_chance: number;
  readonly crash_every_ms: number | null;
  readonly freeze_every_ms: number | null;
  readonly clock_step_every_ms: number | null;
  readonly disk_full_every_ms: number | null;
  /** Mean time between attempts of a second process to open the log. */
  readonly rival_every_ms: number | null;
  readonly partition_every_ms: number | null;
  readonly agent_freeze_every_ms: number | null;
  /** When a replica that lacks the last commits replaces the shared store. */
  readonly failover_at_ms: number | null;
  /** When the disk is replaced by a copy that was made at half of this time. */
  readonly restore_at_ms: number | null;
  /** Share of crashes that are also power losses. */
  readonly power_chance: number;
  /** Share of restarts that find the log damaged. */
  readonly rot_chance: number;
  /** Resolution of the store's clock; 0: continuous. */
  readonly clock_tick_ms: number;
  /** Share of waiting calls during which the credential is revoked. */
  readonly revoked_chance: number;
}

export interface Scenario {
  readonly seed: number;
  readonly mode: Mode;
  readonly topology: SimTopology;
  readonly coordinators: number;
  readonly agents: number;
  readonly sessions: number;
  readonly commands: number;
  readonly lease_seconds: number;
  readonly think_ms: number;
  readonly segment_bytes_max: number;
  /** Up to this many concurrent batches each sync their own log, without the write-ahead log. 0: none does. */
  readonly own_syncs_max: number;
  readonly wal_bytes_max: number;
  readonly policy: Readonly<Record<string, unknown>>;
  readonly limits: Limits;
  readonly plan: SimPlan;
  readonly rates: Rates;
  has(fault: Fault): boolean;
}

/** Number of commands while faults are on; liveness mode adds more until all work is done. */
export const COMMANDS = 500;
/** Fewer commands in the mode `runs`: a run consists of many commands, and each reads the whole history of its edge. */
const RUN_COMMANDS = 150;
const FAULTY_SHARE = 0.75;

export function scenarioOf(options: SeedRunOptions): Scenario {
  const rng = new Rng(`scenario ${options.seed}`);
  const without = new Set<Fault>(options.without);
  const topology: SimTopology = rng.chance(0.5) ? 'file' : 'shared';
  const lease_seconds = rng.pick([5, 10, 20, 30]);
  const faultRng = rng.fork('faults');
  // Each seed has its own mix of faults: a fault present in every run hides what happens without it.
  const pickedFaults = new Map<Fault, boolean>();
  const has = (fault: Fault): boolean => {
    let isPicked = pickedFaults.get(fault);
    if (isPicked === undefined) {
      isPicked = faultRng.fork(fault).chance(FAULTY_SHARE);
      pickedFaults.set(fault, isPicked);
    }
    return isPicked && !without.has(fault);
  };
  const agents = 5 + rng.int(4);
  return {
    seed: options.seed,
    mode: options.mode,
    topology,
    coordinators: topology === 'file' ? 1 : 2 + rng.int(2),
    agents: Math.min(agents, options.agents_max ?? agents),
    sessions: Math.max(2, agents - rng.int(3)),
    commands: options.commands_max ?? (options.mode === 'runs' ? RUN_COMMANDS : COMMANDS),
    lease_seconds,
    think_ms: rng.pick([1_000, 2_000, 4_000]),
    segment_bytes_max: rng.pick([5_000, 20_000, 60_000, 1_000_000]),
    // Drawn from a separate random stream, so that the rest of a seed does not change.
    // The purpose stays as it was: every seed would otherwise get another value.
    own_syncs_max: rng.fork('direct syncs').pick([0, 0, 1, 4]),
    wal_bytes_max: rng.fork('wal bytes').pick([2_000, 20_000, 1_000_000]),
    policy: policyFor(rng.fork('policy'), lease_seconds),
    limits: limitsFor(rng.fork('limits'), options.mode),
    plan: planFor(rng.fork('plan')),
    rates: ratesFor(rng.fork('rates'), { has, lease_ms: lease_seconds * 1000, topology }),
    has,
  };
}

function policyFor(rng: Rng, leaseSeconds: number): Record<string, unknown> {
  const tasks = rng.weighted({ takeover: 7, hold: 3 });
  return {
    stale_policy: { task: tasks, edge: rng.pick(['takeover', 'hold']) },
    late_submit: rng.weighted({ accept: 2, reject: 1 }),
    max_hold_seconds: rng.chance(0.35) ? leaseSeconds * (2 + rng.int(6)) : null,
    stale_threshold_seconds: leaseSeconds * (1 + rng.int(3)),
    claim_ttl_seconds: leaseSeconds,
    sweep_interval_seconds: rng.pick([1, 5, 15, 3600]),
    suspend_max_seconds: leaseSeconds * (1 + rng.int(8)),
    max_attempts: rng.pick([2, 3, 10, 1000]),
    max_agents_per_track: rng.chance(0.3) ? 1 + rng.int(2) : null,
  };
}

function limitsFor(rng: Rng, mode: Mode): Limits {
  return {
    ...DEFAULT_LIMITS,
    min_lease_duration_seconds: 1,
    max_concurrent_claims: rng.pick([2, 3, 5, 100]),
    max_active_sessions: rng.pick([2, 3, 50, 50]),
    // A task at this limit can never be completed, so liveness mode would wait for it forever.
    max_generations_per_task: mode !== 'safety' ? 1_000_000 : rng.pick([6, 20, 1000]),
    session_idle_seconds: rng.pick([30, 900]),
  };
}

function ratesFor(
  rng: Rng,
  { has, lease_ms, topology }: { has: Scenario['has']; lease_ms: number; topology: SimTopology },
): Rates {
  const meanIntervalMs = (fault: Fault, leases: readonly number[]): number | null => {
    const meanMs = lease_ms * rng.pick(leases);
    return has(fault) ? meanMs : null;
  };
  const faultChance = (fault: Fault, chances: readonly number[]): number => {
    const drawn = rng.pick(chances);
    return has(fault) ? drawn : 0;
  };
  const isFile = topology === 'file';
  const failoverMs = lease_ms * rng.between(2, 20);
  return {
    loss_chance: faultChance('loss', [0.01, 0.05, 0.2]),
    double_chance: faultChance('double', [0.02, 0.1]),
    delay_chance: faultChance('delay', [0.02, 0.1]),
    link_failure_chance: isFile ? 0 : faultChance('link', [0.01, 0.05, 0.15]),
    write_failure_chance: isFile ? faultChance('write_failure', [0, 0.01, 0.03]) : 0,
    sync_failure_chance: isFile ? faultChance('sync_failure', [0, 0.001, 0.004]) : 0,
    stall_chance: isFile ? faultChance('stall', [0, 0.05, 0.2]) : 0,
    crash_every_ms: meanIntervalMs('crash', [12, 30, 80]),
    freeze_every_ms: meanIntervalMs('freeze', [10, 30]),
    clock_step_every_ms: meanIntervalMs('clock_step', [4, 15]),
    disk_full_every_ms: isFile ? meanIntervalMs('disk_full', [10, 30]) : null,
    rival_every_ms: isFile ? meanIntervalMs('rival', [10, 30]) : null,
    partition_every_ms: meanIntervalMs('partition', [3, 10]),
    agent_freeze_every_ms: meanIntervalMs('agent_freeze', [2, 6]),
    failover_at_ms: !isFile && has('failover') && rng.chance(0.3) ? failoverMs : null,
    power_chance: has('power') ? 0.7 : 0,
    rot_chance: has('rot') ? 0.15 : 0,
    clock_tick_ms: faultChance('coarse_clock', [0, 0, 20, 1000]),
    // Only in few seeds, and from its own random stream, so that the runs of other seeds do not change.
    restore_at_ms:
      isFile && has('restore') && rng.fork('restored').chance(0.3)
        ? lease_ms * rng.fork('restore').between(4, 20)
        : null,
    revoked_chance: has('revoked') ? rng.fork('revoked').pick([0, 0, 0.5]) : 0,
  };
}
