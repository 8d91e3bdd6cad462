import type { input, ZodType } from 'zod';
import type { OPERATIONS, OperationId } from '../core/contract/operations.js';
import type { ReplyOf } from '../core/contract/schema.js';
import type { NoteBody } from '../core/contract/tasks.js';
import type { ApiProblem } from './replies.js';

export type CallReply<T> = Promise<T | ApiProblem>;
/** What an operation replies. */
export type ReplyTo<Id extends OperationId> = (typeof OPERATIONS)[Id] extends {
  reply: infer Reply extends ZodType;
}
  ? ReplyOf<Reply>
  : never;
export type OperationReply<Id extends OperationId> = CallReply<ReplyTo<Id>>;
/** What an operation takes as its body, unsigned. */
export type BodyOf<Id extends OperationId> = (typeof OPERATIONS)[Id] extends {
  body: { schema: infer Body extends ZodType };
}
  ? Omit<input<Body>, 'signature'>
  : never;
/** Makes fields optional that default to GENESIS_AGENT and GENESIS_SESSION. */
type WithEnvDefaults<T, Left extends string> = Omit<T, Left> & { [Name in Left]?: string };

export type ClaimTaskRequest = WithEnvDefaults<BodyOf<'claim_task'>, 'agent_id' | 'session_id'>;
export type NextTaskRequest = WithEnvDefaults<Partial<BodyOf<'next'>>, 'agent_id' | 'session_id'>;
export type RenewLeaseRequest = WithEnvDefaults<BodyOf<'renew_lease'>, 'session_id'>;
export type ReleaseClaimRequest = WithEnvDefaults<BodyOf<'release_claim'>, 'session_id'>;
export type SubmitResultRequest = WithEnvDefaults<BodyOf<'submit_result'>, 'session_id'>;
export type AddNoteRequest = WithEnvDefaults<Omit<NoteBody, 'signature'>, 'session_id'>;
export type SuspendClaimRequest = WithEnvDefaults<BodyOf<'suspend_claim'>, 'session_id'>;
export type ResumeClaimRequest = WithEnvDefaults<BodyOf<'resume_claim'>, 'session_id'>;
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
