import type { LossOfHistory } from '../audit/history-lost.js';
import type { Limits, Policy, PolicyBody, StalePolicy } from '../contract/settings.js';
import { LIMITED_TRACKS_MAX, type MaxAgentsPerTrack } from '../plan/track-capacity.js';
import type { RecordHead } from '../record.js';
import { type SubjectKind, subjectKindOf } from '../subject.js';
import { withoutUndefined } from '../without-undefined.js';

export type { Limits, Policy };

export const DEFAULT_POLICY: Policy = {
  stale_policy: { task: 'takeover', edge: 'hold' },
  late_submit: 'accept',
  max_hold_seconds: null,
  stale_threshold_seconds: 1800,
  claim_ttl_seconds: 3600,
  sweep_interval_seconds: 15,
  suspend_max_seconds: 14 * 24 * 3600,
  max_attempts: 10,
  max_agents_per_track: null,
  task_proposals: 'review',
  compliance_profile: null,
  evidence: 'reported',
};

export const DEFAULT_LIMITS: Limits = {
  max_concurrent_claims: 100,
  max_lease_duration_seconds: 3600,
  min_lease_duration_seconds: 30,
  max_generations_per_task: 100,
  claim_history_retention_days: 90,
  max_result_size_bytes: 10 * 1024 * 1024,
  max_active_sessions: 50,
  session_idle_seconds: 900,
  require_signatures: false,
};

export const ENTERPRISE_LIMITS: Limits = {
  ...DEFAULT_LIMITS,
  max_concurrent_claims: 1000,
  max_lease_duration_seconds: 7200,
  max_generations_per_task: 1000,
  claim_history_retention_days: 365,
  max_result_size_bytes: 100 * 1024 * 1024,
  max_active_sessions: 500,
};

type PolicyChange = Omit<PolicyBody, 'request_id' | 'signature'>;

/** The policy after a change. Omitted fields keep their values, and so do omitted kinds and tracks within a field. */
export function changedPolicy(policy: Policy, change: PolicyChange): Policy {
  const { stale_policy, max_agents_per_track, ...plainFields } = change;
  const staleChange =
    typeof stale_policy === 'string' ? { task: stale_policy, edge: stale_policy } : (stale_policy ?? {});
  return {
    ...policy,
    ...withoutUndefined(plainFields),
    stale_policy: { ...policy.stale_policy, ...withoutUndefined(staleChange) },
    max_agents_per_track: changedMaxAgents(policy.max_agents_per_track, max_agents_per_track),
  };
}

/** A change with values per track replaces a single value for all tracks. A track whose value is null has no limit. */
function changedMaxAgents(
  current: MaxAgentsPerTrack,
  change: PolicyChange['max_agents_per_track'],
): Policy['max_agents_per_track'] {
  if (change === undefined) return current;
  if (change === null || typeof change === 'number') return change;
  const currentByTrack = typeof current === 'number' || current === null ? {} : current;
  const byTrack = Object.entries({ ...currentByTrack, ...change }).filter(
    (entry): entry is [string, number] => entry[1] !== null,
  );
  return byTrack.length === 0 ? null : Object.fromEntries(byTrack);
}

/** Whether the policy limits so few tracks that its record stays small. */
export const isTrackCountAllowed = ({ max_agents_per_track }: Policy): boolean =>
  typeof max_agents_per_track !== 'object' ||
  Object.keys(max_agents_per_track ?? {}).length <= LIMITED_TRACKS_MAX;

/** Input of `decide` in addition to the head: the policy that applies to the subject, and the limits. */
export interface Rules extends Omit<Policy, 'stale_policy'>, Limits {
  readonly stale_policy: StalePolicy;
  /** Allowed clock skew for stores without a clock: a takeover waits this much longer. */
  readonly skew_margin_ms: number;
  /** Every new generation is above this number; 0 unless history was lost. */
  readonly generation_floor: number;
}

export function rulesFor(
  kind: SubjectKind,
  policy: Policy,
  limits: Limits,
  skew_margin_ms: number,
  generation_floor = 0,
): Rules {
  const stale_policy = policy.stale_policy[kind === 'edge' ? 'edge' : 'task'];
  return { ...policy, ...limits, stale_policy, skew_margin_ms, generation_floor };
}

/** The number that every new generation exceeds, from the record of a loss of history; 0 if no history was lost. */
export const generationFloor = (lossHead: RecordHead | null | undefined): number =>
  (lossHead?.value as Partial<LossOfHistory['record']> | undefined)?.generation_floor ?? 0;

/**
 * A function that returns the rules of a subject. The rules depend only on the subject's kind, so they are computed once
 * per kind: computing them costs more than a decision.
 */
export function rulesLookup(
  policy: Policy,
  limits: Limits,
  skew_margin_ms: number,
  generation_floor = 0,
): (subject: string) => Rules {
  const byKind: Partial<Record<SubjectKind, Rules>> = {};
  return (subject) => {
    const kind = subjectKindOf(subject);
    byKind[kind] ??= rulesFor(kind, policy, limits, skew_margin_ms, generation_floor);
    return byKind[kind];
  };
}
