import type { CheckCounts, ClaimState, ReleaseReason, ReviewDecision } from './head.js';

/** Payload of a session's event: includes the signature of its command, if the command was signed. */
interface SignedPayload {
  signature?: string;
}

/** Payload per kind of claim event. Times are ISO-8601. */
export interface ClaimEventPayloads {
  granted: SignedPayload & {
    previous_generation: number;
    previous_state: ClaimState | 'NONE';
    lease_duration_seconds: number | null;
    expires_at: string | null;
    max_hold_until?: string;
    inputs?: string;
    user_id?: string;
    metadata?: Readonly<Record<string, unknown>>;
  };
  renewed: SignedPayload & { lease_duration_seconds: number | null; expires_at: string | null };
  lost: {
    cause: 'EXPIRED' | 'SUPERSEDED';
    /** `held`: reported only, the claim remains. `eligible`: anybody may claim now. */
    disposition: 'held' | 'eligible';
    expired_at?: string;
    by?: string;
    reason?: string;
  };
  released: SignedPayload & {
    reason: Exclude<ReleaseReason, 'COMPLETED' | 'EXPIRED' | 'SUPERSEDED'>;
    message?: string;
    by?: string;
    retry_at?: string;
  };
  suspended: SignedPayload & { until: string; gate?: { iteration: number; candidate_sha256: string } };
  resumed: SignedPayload & { lease_duration_seconds: number | null; expires_at: string | null };
  accepted: SignedPayload & { outcome: 'ACCEPTED'; late: boolean } & ResultFields;
  adopted: {
    reason: string;
    by: string;
    adopted_from: { result_id: string; generation: number; agent_id: string; session_id: string };
  } & ResultFields;
  escalated: SignedPayload & {
    reason: string;
    iteration: number;
    until: string;
    /** The first of the paths that need human attention; `path_count` has the total. */
    paths?: readonly string[];
    path_count?: number;
  } & ResultFields;
  warned: SignedPayload & { action: 'warn'; reason: string; iteration: number; result_sha256: string };
  reviewed: {
    decision: ReviewDecision;
    iteration: number;
    candidate_sha256: string;
    reviewer: string;
    comment?: string;
    /** Fresh lease if the holder continues; absent if the review ended the claim. */
    lease_duration_seconds?: number | null;
    expires_at?: string | null;
  };
  held: { reason: string; by: string };
  unheld: { reason: string; by: string };
  reset: { reason: string; by: string; epoch: number };
  claim_denied: {
    reason: string;
    current_generation: number;
    holding_agent?: string;
    waiting_for?: readonly string[];
    limit?: string;
    /** Modules that the holding agent's work touches too. */
    shared_modules?: readonly string[];
  };
  result_denied: SignedPayload & {
    submitted_generation: number;
    current_generation: number;
    rejection_reason: string;
    work_lost: boolean;
    parked: boolean;
    metadata: { result_size_bytes: number };
  } & ResultFields;
  noted: SignedPayload & { text: string };
}

/** A result inside an event: small ones inline, large ones as the digest of a blob. */
export interface ResultFields {
  result_id: string;
  result_sha256: string;
  result_size_bytes: number;
  work_product_ref: string;
  result_data?: unknown;
  blob_sha256?: string;
  /** Edges only: the evidence of convergence. */
  iteration?: number;
  evaluators?: CheckCounts;
  convergence_type?: string;
  context_hash?: string;
}
