import type { Limits, Policy, StalePolicy } from '../contract/settings.js';
import { type SubjectKind, subjectKindOf } from '../subject.js';

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

/** Input of `decide` in addition to the head: the policy that applies to the subject, and the limits. */
export interface Rules extends Omit<Policy, 'stale_policy'>, Limits {
  readonly stale_policy: StalePolicy;
  /** Allowed clock skew for stores without a clock of their own: a takeover waits this much longer. */
  readonly skew_margin_ms: number;
  /** Every new generation is above it; 0 unless history was lost. */
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

/** The rules of each subject. They depend on its kind only, and computing them costs more than a decision. */
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
