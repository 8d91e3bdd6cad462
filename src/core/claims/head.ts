import type { FailingCheck } from '../contract/checks.js';

/** States of a claim. A completed claim is RELEASED with the reason COMPLETED. */
export const CLAIM_STATES = ['ACTIVE', 'SUSPENDED', 'EXPIRED', 'RELEASED', 'SUPERSEDED'] as const;
export type ClaimState = (typeof CLAIM_STATES)[number];

export const RELEASE_REASONS = [
  'COMPLETED',
  'EXPIRED',
  'SUPERSEDED',
  'ERROR',
  'VOLUNTARY',
  'FORCED',
  'SESSION_CLOSED',
] as const;
export type ReleaseReason = (typeof RELEASE_REASONS)[number];

/** The last grant of a subject, in any state. Its generation is the head's. */
export interface LastClaim {
  readonly state: ClaimState;
  readonly agent_id: string;
  readonly session_id: string;
  readonly agent_role: string | null;
  readonly user_id: string | null;
  /** The credential that took the claim, if another credential opened the session. */
  readonly principal?: string;
  /** Request id of the grant. The claim id is derived from it and therefore never stored. */
  readonly request_id: string | null;
  readonly claimed_at_ms: number;
  /** Null: a claim without a lease, which never lapses. */
  readonly lease_seconds: number | null;
  readonly expires_at_ms: number | null;
  /** Time of the holder's last recorded sign of life, such as the grant or a renewal, or of a review that gave a new lease. */
  readonly active_at_ms: number;
  readonly max_hold_until_ms: number | null;
  /** Deadline of the review gate while SUSPENDED. */
  readonly suspended_until_ms: number | null;
  /** Whether an event records the current stale period. Each period is recorded once. */
  readonly stale: boolean;
  readonly release_reason: ReleaseReason | null;
  /** Identifies the results this work depends on, as they were at the time of the grant; null if it depends on none. */
  readonly inputs: string | null;
  readonly metadata: Readonly<Record<string, unknown>> | null;
}

export interface AcceptedResult {
  readonly result_id: string;
  readonly generation: number;
  readonly agent_id: string;
  readonly session_id: string;
  readonly sha256: string;
  readonly work_product_ref: string;
  readonly submitted_at_ms: number;
}

/** A review gate: one candidate under review, and the one decision on it. */
export interface Gate {
  readonly generation: number;
  readonly iteration: number;
  readonly candidate_sha256: string;
  readonly decision: ReviewDecision | null;
  readonly reviewer: string | null;
  /** When the candidate was put before a person. Missing in heads that an earlier version stored. */
  readonly opened_at_ms?: number;
  /** Required checks that the candidate has not passed. An approval cannot replace them. */
  readonly failing?: readonly FailingCheck[];
  /** Set if a submission was escalated: an approval accepts exactly this result. */
  readonly candidate: SubmittedResult | null;
}

export const REVIEW_DECISIONS = ['APPROVED', 'REJECTED', 'CHANGES_REQUESTED'] as const;
export type ReviewDecision = (typeof REVIEW_DECISIONS)[number];

/** A result, identified by its digest. A small result is in `data`, a large one is a blob. */
export interface SubmittedResult {
  readonly result_id: string;
  readonly sha256: string;
  readonly size_bytes: number;
  readonly work_product_ref: string;
  readonly data?: unknown;
  readonly blob_sha256?: string;
  /** What the submitter added, such as the git commits; no rule reads it. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Edges only: the reported evidence of convergence. */
  readonly evidence?: ConvergenceEvidence;
}

export interface ConvergenceEvidence {
  readonly iteration: number;
  /** Outcome of the checks: totals and details per check, as reported. */
  readonly evaluators?: Readonly<Record<string, unknown>>;
  readonly convergence_type?: string;
  readonly context_hash?: string;
}

/** Current state of a subject: the only record of who holds it and which result counts. Never deleted. */
export interface Head {
  readonly subject: string;
  /** Number of events folded into this head. */
  readonly seq: number;
  readonly generation: number;
  /** Incremented by every reset. */
  readonly epoch: number;
  readonly phase: 'OPEN' | 'COMPLETED';
  readonly claim: LastClaim | null;
  readonly result: AcceptedResult | null;
  readonly hold: { readonly reason: string; readonly by: string; readonly at_ms: number } | null;
  readonly gate: Gate | null;
  /** Consecutive generations that ended in error or expiry. */
  readonly failures: number;
  readonly last_error: string | null;
  /** Earliest time of the next claim after an error. */
  readonly retry_at_ms: number | null;
  /** Time of the last event folded into this head; 0 before the first. */
  readonly last_at_ms: number;
}

export const emptyHead = (subject: string): Head => ({
  subject,
  seq: 0,
  generation: 0,
  epoch: 0,
  phase: 'OPEN',
  claim: null,
  result: null,
  hold: null,
  gate: null,
  failures: 0,
  last_error: null,
  retry_at_ms: null,
  last_at_ms: 0,
});
