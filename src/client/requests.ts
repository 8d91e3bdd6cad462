import type { input, ZodType } from 'zod';
import type { OPERATIONS, OperationId } from '../core/contract/operations.js';
import type { ReplyOf } from '../core/contract/schema.js';
import type { NoteBody } from '../core/contract/tasks.js';
import type { ApiProblem } from './replies.js';

export type ReplyPromise<T> = Promise<T | ApiProblem>;
/** The reply of an operation. */
export type ReplyTo<Id extends OperationId> = (typeof OPERATIONS)[Id] extends {
  reply: infer Reply extends ZodType;
}
  ? ReplyOf<Reply>
  : never;
export type OperationReplyPromise<Id extends OperationId> = ReplyPromise<ReplyTo<Id>>;
/** The body of a request to an operation, without the signature. */
export type BodyOf<Id extends OperationId> = (typeof OPERATIONS)[Id] extends {
  body: { schema: infer Body extends ZodType };
}
  ? Omit<input<Body>, 'signature'>
  : never;
type EnvField = 'agent_id' | 'session_id';
/** Makes fields optional that default to GENESIS_AGENT and GENESIS_SESSION. */
type WithEnvDefaults<T> = Omit<T, EnvField> & { [Name in EnvField & keyof T]?: string };
/** The request of a session's command, without the fields that have defaults in the environment. */
export type RequestTo<Id extends OperationId> = WithEnvDefaults<BodyOf<Id>>;

export type ClaimTaskRequest = RequestTo<'claim_task'>;
export type NextTaskRequest = WithEnvDefaults<Partial<BodyOf<'next'>>>;
export type RenewLeaseRequest = RequestTo<'renew_lease'>;
export type ReleaseClaimRequest = RequestTo<'release_claim'>;
export type SubmitResultRequest = RequestTo<'submit_result'>;
/** The results of an edge's checks, with their counts. */
export type CheckReports = NonNullable<SubmitResultRequest['evaluators']>;
/** The result of one check. */
export type CheckReport = CheckReports['details'][number];
export type AddNoteRequest = WithEnvDefaults<Omit<NoteBody, 'signature'>>;
export type SuspendClaimRequest = RequestTo<'suspend_claim'>;
export type ResumeClaimRequest = RequestTo<'resume_claim'>;
export type RecordReviewRequest = BodyOf<'record_review'>;
export interface OperateTaskRequest {
  expected_generation: number;
  reason: string;
  agent_id?: string;
  session_id?: string;
  lease_duration_seconds?: number;
  result_id?: string;
  request_id?: string;
}
export type CreateKeyRequest = BodyOf<'create_key'>;
