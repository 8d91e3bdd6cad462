/** What a claim can be. A completed claim is RELEASED with the reason COMPLETED. */
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

/** The last grant of a subject, whatever became of it. Its generation is the head's. */
export interface HeldClaim {
  readonly state: ClaimState;
  readonly agent_id: string;
  readonly session_id: string;
  readonly agent_role: string | null;
  readonly user_id: string | null;
  /** The request that was granted: the claim id is derived from it, so it is never stored itself. */
  readonly request_id: string | null;
  readonly claimed_at_ms: number;
  /** Null: a claim without a lease, which never lapses. */
  readonly lease_seconds: number | null;
  readonly expires_at_ms: number | null;
  /** The holder's last sign of life: the grant, a renewal or a resumption. */
  readonly active_at_ms: number;
  readonly max_hold_until_ms: number | null;
  /** The deadline of the human gate while SUSPENDED. */
  readonly suspended_until_ms: number | null;
  /** An expiry that leaves the claim held is written down once per episode. */
  readonly stale: boolean;
  readonly release_reason: ReleaseReason | null;
  /** Digest of the results this work builds on, as they were at the grant. */
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

/** A human gate: what is under review, and what was decided. One candidate, one decision. */
export interface Gate {
  readonly generation: number;
  readonly iteration: number;
  readonly candidate_sha256: string;
  readonly decision: ReviewDecision | null;
  readonly reviewer: string | null;
  /** Set when a submission was escalated: approval then accepts exactly this. */
  readonly candidate: SubmittedResult | null;
}

export const REVIEW_DECISIONS = ['APPROVED', 'REJECTED', 'CHANGES_REQUESTED'] as const;
export type ReviewDecision = (typeof REVIEW_DECISIONS)[number];

/** A result as it travels: content-addressed, small ones inline, large ones by blob. */
export interface SubmittedResult {
  readonly result_id: string;
  readonly sha256: string;
  readonly size_bytes: number;
  readonly work_product_ref: string;
  readonly data?: unknown;
  readonly blob_sha256?: string;
  /** Of an edge: what is said to show that it has converged. */
  readonly evidence?: ConvergenceEvidence;
}

export interface ConvergenceEvidence {
  readonly iteration: number;
  readonly evaluators?: CheckCounts;
  readonly convergence_type?: string;
  readonly context_hash?: string;
}

/** How the checks of a result came out, in numbers and one by one. */
export interface CheckCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly total: number;
  readonly details?: readonly Readonly<Record<string, unknown>>[];
}

export interface SubjectHold {
  readonly reason: string;
  readonly by: string;
  readonly at_ms: number;
}

/** The one record that says who holds a subject and whose result counts. Never deleted. */
export interface Head {
  readonly subject: string;
  /** How many events made this head. */
  readonly seq: number;
  readonly generation: number;
  /** +1 with every reset. */
  readonly epoch: number;
  readonly phase: 'OPEN' | 'COMPLETED';
  readonly claim: HeldClaim | null;
  readonly result: AcceptedResult | null;
  readonly hold: SubjectHold | null;
  readonly gate: Gate | null;
  /** Generations in a row that ended in error or expiry. */
  readonly failures: number;
  readonly last_error: string | null;
  /** After an error: no claim before this time. */
  readonly retry_at_ms: number | null;
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
