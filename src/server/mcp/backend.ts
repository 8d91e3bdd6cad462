import type { Explanation } from '../../coordinator/queries/explain.js';
import type {
  ClaimResult,
  ReleaseResult,
  RenewalResult,
  SubmissionResult,
  SubmitBody,
} from '../../coordinator/wire/index.js';
import type { FieldFault } from '../../coordinator/wire/problem.js';
import type { ProjectStatus, TaskState } from '../../core/views/index.js';

/** A holder's proof of its claim. The model passes it with each call, because no protocol session keeps it. */
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
/** A task by its id, or an edge by feature and edge or as the id `FEATURE#EDGE`. */
export interface SubjectSelector {
  readonly task_id?: string | undefined;
  readonly feature_id?: string | undefined;
  readonly edge?: string | undefined;
}
/** A result, and the outcome of an edge's checks. */
export type McpSubmission = Pick<SubmitBody, 'evaluators' | 'iteration'> & { readonly result_data: unknown };
export interface McpNextRequest extends Claimant {
  readonly track?: string | undefined;
  readonly wait_seconds?: number | undefined;
}
export interface McpReleaseRequest {
  readonly reason?: 'VOLUNTARY' | 'ERROR' | undefined;
  readonly message?: string | undefined;
}

/** A fault of the call or the transport, as opposed to a denial. */
export interface McpProblem {
  readonly problem: string;
  readonly detail: string;
  readonly faults?: readonly FieldFault[] | undefined;
}

export const isMcpProblem = (reply: object): reply is McpProblem => 'problem' in reply;

type McpBackendReply<T> = Promise<T | McpProblem>;

/** The MCP tools' access to one project, in this process or through a server. */
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
