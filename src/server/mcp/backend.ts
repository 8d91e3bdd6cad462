import type { Explanation } from '../../coordinator/explain.js';
import type { FieldFault } from '../../coordinator/problem.js';
import type {
  ClaimResult,
  ReleaseResult,
  RenewalResult,
  SubmissionResult,
  SubmitBody,
} from '../../coordinator/wire.js';
import type { ProjectStatus, TaskState } from '../../core/views/index.js';

/** What a holder must show. A model passes it on by hand: no session of the protocol keeps it. */
export interface McpHandle {
  readonly task_id: string;
  readonly generation: number;
  readonly claim_id: string;
  readonly session_id: string;
}

export interface Claimant {
  readonly agent_id: string;
  readonly session_id: string;
  readonly lease_duration_seconds?: number | undefined;
  readonly agent_role?: string | undefined;
}
/** A task by its id, or an edge of a feature: by both names, or by `FEATURE#EDGE` as an id. */
export interface SubjectSelector {
  readonly task_id?: string | undefined;
  readonly feature_id?: string | undefined;
  readonly edge?: string | undefined;
}
/** A result, and how the checks of an edge came out. */
export type McpSubmission = Pick<SubmitBody, 'evaluators' | 'iteration'> & { readonly result_data: unknown };
export interface McpNextRequest extends Claimant {
  readonly track?: string | undefined;
  readonly wait_seconds?: number | undefined;
}
export interface McpReleaseRequest {
  readonly reason?: 'VOLUNTARY' | 'ERROR' | undefined;
  readonly message?: string | undefined;
}

/** What is wrong with a call or on the way to where it is decided, as opposed to a refusal. */
export interface McpProblem {
  readonly problem: string;
  readonly detail: string;
  readonly faults?: readonly FieldFault[] | undefined;
}

export const isMcpProblem = (reply: object): reply is McpProblem => 'problem' in reply;

type McpBackendReply<T> = Promise<T | McpProblem>;

/** One project, as the tools see it: in this process, or behind a server's address. */
export interface McpBackend {
  next(request: McpNextRequest): McpBackendReply<ClaimResult>;
  claim(selector: SubjectSelector, claimant: Claimant): McpBackendReply<ClaimResult>;
  renew(handle: McpHandle, leaseDurationSeconds?: number): McpBackendReply<RenewalResult>;
  submit(handle: McpHandle, submission: McpSubmission): McpBackendReply<SubmissionResult>;
  release(handle: McpHandle, request: McpReleaseRequest): McpBackendReply<ReleaseResult>;
  note(handle: McpHandle, text: string): McpBackendReply<ReleaseResult>;
  task(taskId: string): McpBackendReply<TaskState>;
  status(): McpBackendReply<ProjectStatus>;
  explain(taskId: string): McpBackendReply<Explanation>;
}
