import type { GrantedClaim } from '../core/contract/claim-records.js';
import type { ClaimResult } from '../core/contract/claim-replies.js';
import type { ProblemDocument } from '../core/contract/problem.js';

/**
 * An error of the request, the credential or the connection. A refusal is not a problem but a decision. The code is the
 * server's, or the client's own if there was no usable response, such as `UNREACHABLE`; without a response the status is 0.
 */
export type ApiProblem = Pick<ProblemDocument, 'detail' | 'status' | 'faults' | 'request_id'> & {
  readonly code: string;
};

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

export type { GrantedClaim } from '../core/contract/claim-records.js';
/**
 * Replies as the contract defines them. They are not validated: a newer server may send other codes and fields. In a
 * switch over `reason`, keep a default.
 */
export type {
  ClaimResult as ClaimReply,
  GateResult as GateReply,
  NoteResult as NoteReply,
  ReleaseResult as ReleaseReply,
  RenewalResult as RenewalReply,
  SubmissionResult as SubmissionReply,
} from '../core/contract/claim-replies.js';
export type { ClaimRefusal, RenewalRefusal, SubmissionRefusal } from '../core/contract/codes.js';

export type ClaimGranted = Extract<ClaimResult, { reason: 'GRANTED' }>;
export type ClaimRefused = Exclude<ClaimResult, { reason: 'GRANTED' }>;
/** Reply to `next`. */
export type NextReply = ClaimResult;
/** A claim that expires. In single-agent mode an edge's claim has no lease: it is held until it is released. */
export type LeasedClaim = GrantedClaim & {
  readonly lease_duration_seconds: number;
  readonly expires_at: string;
};

export const hasLease = (claim: GrantedClaim): claim is LeasedClaim =>
  claim.lease_duration_seconds !== null && claim.expires_at !== null;
