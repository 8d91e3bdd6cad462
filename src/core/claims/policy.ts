import type { SubjectKind } from '../subject.js';

export type StalePolicy = 'takeover' | 'hold';

/** Policy of a project, with the field names of the wire contract. */
export interface Policy {
  /** What an expired lease means, per kind of subject: anybody may take over, or the claim stays held. */
  stale_policy: { task: StalePolicy; edge: StalePolicy };
  /** Whether a result after expiry is accepted as late or refused, if nobody has taken over. */
  late_submit: 'accept' | 'reject';
  /** Maximum duration of a claim, including renewals; after that, anybody may take over. */
  max_hold_seconds: number | null;
  /** Under `hold`: inactivity after which a claim is reported stale. */
  stale_threshold_seconds: number;
  /** Lease of an edge claim that does not ask for one. */
  claim_ttl_seconds: number;
  sweep_interval_seconds: number;
  /** Maximum time for which a human gate stays open. */
  suspend_max_seconds: number;
  /** Consecutive generations that may end in error or expiry before a human must act. */
  max_attempts: number;
  /** Maximum number of agents working in one track; null: unlimited. */
  max_agents_per_track: number | null;
  compliance_profile: 'hipaa' | 'soc2' | 'pci' | null;
}

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
  compliance_profile: null,
};

/** Limits of a tenant, with the names and values of seed 004 §7.2. */
export interface Limits {
  max_concurrent_claims: number;
  max_lease_duration_seconds: number;
  min_lease_duration_seconds: number;
  max_generations_per_task: number;
  claim_history_retention_days: number;
  max_result_size_bytes: number;
  max_active_sessions: number;
  session_idle_seconds: number;
  /** Every command of a session must be signed with the key that opened the session. */
  require_signatures: boolean;
}

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

/** Input of `decide` beside the head: the policy that applies to the subject, and the limits. */
export interface Rules {
  readonly stale_policy: StalePolicy;
  readonly late_submit: 'accept' | 'reject';
  readonly max_hold_seconds: number | null;
  readonly stale_threshold_seconds: number;
  readonly suspend_max_seconds: number;
  readonly max_attempts: number;
  readonly min_lease_duration_seconds: number;
  readonly max_lease_duration_seconds: number;
  readonly max_generations_per_task: number;
  readonly max_result_size_bytes: number;
  /** Allowed clock skew for stores without a clock of their own: a takeover waits this much longer. */
  readonly skew_margin_ms: number;
}

export function rulesFor(kind: SubjectKind, policy: Policy, limits: Limits, skew_margin_ms: number): Rules {
  return {
    stale_policy: kind === 'edge' ? policy.stale_policy.edge : policy.stale_policy.task,
    late_submit: policy.late_submit,
    max_hold_seconds: policy.max_hold_seconds,
    stale_threshold_seconds: policy.stale_threshold_seconds,
    suspend_max_seconds: policy.suspend_max_seconds,
    max_attempts: policy.max_attempts,
    min_lease_duration_seconds: limits.min_lease_duration_seconds,
    max_lease_duration_seconds: limits.max_lease_duration_seconds,
    max_generations_per_task: limits.max_generations_per_task,
    max_result_size_bytes: limits.max_result_size_bytes,
    skew_margin_ms,
  };
}
