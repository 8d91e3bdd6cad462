import type { TaskClaim } from '../../../../src/core/contract/claim-records.js';
import type { AgentView, ProjectStatus } from '../../../../src/core/contract/overview.js';
import { ANONYMOUS_ID } from '../../model/actor-name.js';
import type { LastOutcome } from './activity.js';

/**
 * The state of a claim as the page shows it. `suspect`: most of the lease has passed without a renewal. `stale`: the server
 * reports the holder as inactive. `lapsed`: the lease has ended, and the work is not taken over yet.
 */
type HeldState = 'active' | 'suspect' | 'stale' | 'suspended' | 'lapsed';
/** `gone`: the lease of the agent has ended, and it has not been active since. `idle`: the agent holds nothing. */
export type AgentState = Exclude<HeldState, 'lapsed'> | 'gone' | 'idle';

export interface ClaimRow {
  readonly claim: TaskClaim;
  readonly state: HeldState;
}

export interface AgentRow {
  readonly agent_id: string;
  readonly state: AgentState;
  readonly claims: readonly ClaimRow[];
  /** Null for a holder that is not in the list of agents. */
  readonly stats: AgentView | null;
  /** How the last claim of the agent ended; null if unknown. */
  readonly outcome: LastOutcome | null;
}

/** The claim that is held for the longest time; null if none is held. */
export function oldestClaim(claims: readonly TaskClaim[]): TaskClaim | null {
  const isOlder = (a: TaskClaim, b: TaskClaim) => Date.parse(a.claimed_at) < Date.parse(b.claimed_at);
  return claims.reduce<TaskClaim | null>(
    (oldest, claim) => (oldest === null || isOlder(claim, oldest) ? claim : oldest),
    null,
  );
}

/** Clients renew after two fifths of the lease. After four fifths, two renewals are missing. */
const SUSPECT_RATIO = 0.8;

/** The states in the order of attention. */
const STATE_ORDER: readonly AgentState[] = ['stale', 'gone', 'suspect', 'active', 'suspended', 'idle'];

export interface FleetReplies {
  readonly agents: readonly AgentView[];
  readonly status: Pick<ProjectStatus, 'claims' | 'waiting'>;
  /** Claims whose lease has ended. */
  readonly expired: readonly TaskClaim[];
  readonly outcomes: ReadonlyMap<string, LastOutcome>;
}

/** The rows of the agents, those that need attention first. A caller without a key is left out unless it holds or held work. */
export function agentRows({ agents, status, expired, outcomes }: FleetReplies, nowMs: number): AgentRow[] {
  const stale = new Set(
    status.waiting.filter(({ readiness }) => readiness === 'stale').map(({ task_id }) => task_id),
  );
  const held = status.claims.map((claim) => ({
    claim,
    state: heldState(claim, stale.has(claim.task_id), nowMs),
  }));
  const live = new Set(status.claims.map(({ task_id }) => task_id));
  const lapsed = expired
    .filter(({ task_id }) => !live.has(task_id))
    .map((claim) => ({ claim, state: 'lapsed' as const }));
  const claimsOf = byAgent([...held, ...lapsed]);
  const statsOf = new Map(agents.map((agent) => [agent.agent_id, agent]));
  return [...new Set([...statsOf.keys(), ...claimsOf.keys()])]
    .map((agent_id) => {
      const [stats, claims] = [statsOf.get(agent_id) ?? null, claimsOf.get(agent_id) ?? []];
      const outcome = outcomes.get(agent_id) ?? null;
      return { agent_id, stats, claims, outcome, state: agentState(claims, stats, outcome) };
    })
    .filter(
      ({ agent_id, claims, outcome }) => agent_id !== ANONYMOUS_ID || claims.length > 0 || outcome !== null,
    )
    .sort(byAttention);
}

function byAgent(rows: readonly ClaimRow[]): ReadonlyMap<string, ClaimRow[]> {
  const claimsOf = new Map<string, ClaimRow[]>();
  for (const row of rows) {
    const { agent_id } = row.claim;
    const claims = claimsOf.get(agent_id) ?? [];
    claims.push(row);
    claimsOf.set(agent_id, claims);
  }
  return claimsOf;
}

export function heldState(claim: TaskClaim, isStale: boolean, nowMs: number): HeldState {
  if (isStale) return 'stale';
  if (claim.state === 'SUSPENDED') return 'suspended';
  return spentRatio(claim, nowMs) >= SUSPECT_RATIO ? 'suspect' : 'active';
}

/** How much of the lease has passed since the last renewal: 0 to 1. 0 without a lease. */
export function spentRatio({ expires_at, lease_duration_seconds }: TaskClaim, nowMs: number): number {
  if (expires_at === null || lease_duration_seconds === null) return 0;
  const leftMs = Date.parse(expires_at) - nowMs;
  return Math.min(1, Math.max(0, 1 - leftMs / (lease_duration_seconds * 1000)));
}

function agentState(
  claims: readonly ClaimRow[],
  stats: AgentView | null,
  outcome: LastOutcome | null,
): AgentState {
  const states = new Set(claims.map(({ state }) => state));
  for (const state of ['stale', 'suspect', 'active', 'suspended'] as const)
    if (states.has(state)) return state;
  const lastActiveMs = Date.parse(stats?.last_activity ?? '');
  const endTimes = claims.map(({ claim }) => claim.expires_at ?? '');
  // If the work was taken over since, only the event shows that the lease ended.
  if (outcome?.kind === 'lost') endTimes.push(outcome.at);
  const isActiveSince = endTimes.some((time) => lastActiveMs > Date.parse(time));
  return endTimes.length > 0 && !isActiveSince ? 'gone' : 'idle';
}

/** `agent-2` is before `agent-10`. */
const nameCollator = new Intl.Collator('en', { numeric: true });

const byAttention = (a: AgentRow, b: AgentRow): number =>
  STATE_ORDER.indexOf(a.state) - STATE_ORDER.indexOf(b.state) || nameCollator.compare(a.agent_id, b.agent_id);
