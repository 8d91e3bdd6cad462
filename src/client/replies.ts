import type * as wire from '../coordinator/wire/index.js';

/** A fault of the request, the credential or the connection, as opposed to a decided refusal. */
export interface ApiProblem {
  /** Stable code from the server, or `UNREACHABLE` if no server answered. */
  readonly code: string;
  readonly detail: string;
  /** The HTTP status; 0 if there was no response. */
  readonly status: number;
  readonly faults?: readonly {
    code?: string;
    file?: string;
    path: string;
    message: string;
    line?: number;
    column?: number;
  }[];
  readonly request_id?: string;
}

export const isProblem = (reply: unknown): reply is ApiProblem =>
  typeof reply === 'object' && reply !== null && 'code' in reply && 'detail' in reply && 'status' in reply;

/** Whether the problem may pass by itself: no server, a busy one, or an unknown outcome. */
export const isTransient = ({ status }: ApiProblem): boolean =>
  status === 0 || status === 408 || status === 429 || status >= 500;

/** Thrown only where no value can be returned: by an event stream, or by a worker that cannot continue. */
export class GenesisError extends Error {
  constructor(readonly problem: ApiProblem) {
    super(`${problem.code}: ${problem.detail}`);
    this.name = 'GenesisError';
  }
}

/** The known codes, plus any string, since servers may add codes. */
type ExtensibleCode<Codes extends string> = Codes | (string & {});

export type ClaimRefusal = ExtensibleCode<
  | 'DENIED_ACTIVE_CLAIM'
  | 'DENIED_COMPLETED'
  | 'DENIED_DEPENDENCIES'
  | 'DENIED_HELD'
  | 'DENIED_BACKOFF'
  | 'DENIED_LIMIT'
  | 'DENIED_SINGLE_AGENT'
  | 'DENIED_PARALLEL'
  | 'UNKNOWN_TASK'
  | 'NOTHING_READY'
  | 'SESSION_CLOSED'
>;
/** A claim with its id. In single-agent mode an edge's claim has no lease and never expires. */
export type OwnedClaim = wire.GrantedClaim & { id: string };
/** A claim with a lease, as every task's claim has. */
export type LeasedClaim = OwnedClaim & { lease_duration_seconds: number; expires_at: string };
export type ClaimGranted = Omit<wire.ClaimResult, 'success' | 'reason' | 'claim'> & {
  success: true;
  reason: 'GRANTED';
  claim: OwnedClaim;
};
export type ClaimRefused = Omit<wire.ClaimResult, 'success' | 'reason' | 'claim'> & {
  success: false;
  reason: ClaimRefusal;
  claim: null;
};
export type ClaimReply = ClaimGranted | ClaimRefused;
/** Reply to `next`. A grant is always a task, so it has a lease. */
export type NextReply = (Omit<ClaimGranted, 'claim'> & { claim: LeasedClaim }) | ClaimRefused;

export type HolderRefusal = ExtensibleCode<
  'GENERATION_MISMATCH' | 'SESSION_MISMATCH' | 'NO_CLAIM' | 'ALREADY_EXPIRED'
>;
export interface HolderRefused {
  success: false;
  reason: HolderRefusal;
  next?: string;
}
export type RenewalReply =
  | { success: true; reason: 'RENEWED'; new_expiry: string | null }
  | (HolderRefused & { new_expiry: null });
export type ReleaseReply = { success: true; reason: 'RELEASED' } | HolderRefused;
export type NoteReply = { success: true; reason: string } | HolderRefused;

/** `until`: when a suspended claim expires. */
export type GateReply =
  | { success: true; reason: string; generation: number; until: string | null }
  | (HolderRefused & { generation: number; until: string | null });

export type SubmissionRefusal = ExtensibleCode<
  | 'STALE_GENERATION'
  | 'FUTURE_GENERATION'
  | 'SESSION_MISMATCH'
  | 'NO_CLAIM'
  | 'TASK_ALREADY_COMPLETED'
  | 'LEASE_EXPIRED'
  | 'ESCALATED'
  | 'DEPENDENCY_CHANGED'
  | 'OUTSIDE_AUTHORITY'
  | 'NOT_CONVERGED'
  | 'RESULT_TOO_LARGE'
>;
type SubmissionFields = Omit<wire.SubmissionResult, 'accepted' | 'reason' | 'work_product_ref'>;
export type SubmissionReply =
  | (SubmissionFields & { accepted: true; reason: 'ACCEPTED'; work_product_ref: string })
  | (SubmissionFields & { accepted: false; reason: SubmissionRefusal; work_product_ref: string | null });
