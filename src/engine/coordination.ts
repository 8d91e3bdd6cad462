import type {
  ClaimBody,
  ReleaseBody,
  RenewBody,
  SubmitBody,
  SuspendBody,
} from '../core/contract/claim-bodies.js';
import type {
  ClaimResult,
  GateResult,
  ReleaseResult,
  RenewalResult,
  SubmissionResult,
} from '../core/contract/claim-replies.js';
import type { AppendBody, AppendResult } from '../core/contract/events.js';
import type { ProposeBody, ProposeResult } from '../core/contract/runners.js';
import type { Explanation } from '../core/contract/tasks.js';
import type { EventEnvelope } from '../core/events/envelope.js';
import { type EngineError, engineError } from './engine-error.js';

/** A reply without a decision: the coordinator is not reachable, the caller is not authorized, or the request is not valid. */
export interface CoordinationFailure {
  readonly code: string;
  readonly detail: string;
}
export const isCoordinationFailure = <Reply extends object>(
  reply: Reply | CoordinationFailure,
): reply is CoordinationFailure => 'detail' in reply;

/** Codes after which the same request may succeed later. */
const TRANSIENT_CODES: ReadonlySet<string> = new Set([
  'UNAVAILABLE',
  'UNREACHABLE',
  'TIMEOUT',
  'RATE_LIMITED',
]);

/** The error for a failure. The machine retries after a transient failure, and hands every other one to a person. */
export const coordinationError = ({ code, detail }: CoordinationFailure): EngineError =>
  engineError(TRANSIENT_CODES.has(code) ? 'unavailable' : 'failed', `${code}: ${detail}`);

type Reply<Result> = Promise<Result | CoordinationFailure>;

/** The coordinator of one project, as the engine uses it: over HTTP, or in the same process. */
export interface EdgeCoordination {
  claimTask(body: ClaimBody): Reply<ClaimResult>;
  renewLease(body: RenewBody): Reply<RenewalResult>;
  releaseClaim(body: ReleaseBody): Reply<ReleaseResult>;
  suspendClaim(body: SuspendBody): Reply<GateResult>;
  appendEvent(body: AppendBody): Reply<AppendResult>;
  submitResult(body: SubmitBody): Reply<SubmissionResult>;
  proposeCandidate(body: ProposeBody): Reply<ProposeResult>;
  explain(subject: string): Reply<Explanation>;
  /** Yields at once, and whenever the evidence about a candidate may have changed, until `signal` is aborted. */
  evidenceChanges(signal: AbortSignal): AsyncIterable<void>;
  /** The events of an edge, oldest first. Throws if they cannot be read. */
  eventsOf(subject: string): Promise<readonly EventEnvelope[]>;
}
