import type { Problem } from '../coordinator/wire/problem.js';
import type {
  ClaimBody,
  ClaimResult,
  ReleaseBody,
  ReleaseResult,
  RenewalResult,
  RenewBody,
  SubmissionResult,
  SubmitBody,
} from '../core/contract/claims.js';
import type { AppendBody, AppendResult } from '../core/contract/events.js';
import type { EventEnvelope } from '../core/events/envelope.js';

type Reply<Result> = Promise<Result | Problem>;

/** What the engine asks of the coordinator of one project. The client of the SDK and a coordinator in process provide it. */
export interface EdgeCoordination {
  claimTask(body: ClaimBody): Reply<ClaimResult>;
  renewLease(body: RenewBody): Reply<RenewalResult>;
  releaseClaim(body: ReleaseBody): Reply<ReleaseResult>;
  appendEvent(body: AppendBody): Reply<AppendResult>;
  submitResult(body: SubmitBody): Reply<SubmissionResult>;
  /** The events of an edge, oldest first. Throws if they cannot be read. */
  eventsOf(subject: string): Promise<readonly EventEnvelope[]>;
}
