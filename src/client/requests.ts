import type { ZodType } from 'zod';
import type {
  ClaimBody,
  NextBody,
  ReleaseBody,
  RenewBody,
  ResumeBody,
  ReviewBody,
  SubmitBody,
  SuspendBody,
} from '../core/contract/claims.js';
import type { KeyBody } from '../core/contract/keys.js';
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
export type UnsignedBody<T> = Omit<T, 'signature'>;
/** Makes fields optional that default to GENESIS_AGENT and GENESIS_SESSION. */
type WithEnvDefaults<T, Left extends string> = UnsignedBody<Omit<T, Left>> & { [Name in Left]?: string };

export type ClaimTaskRequest = WithEnvDefaults<ClaimBody, 'agent_id' | 'session_id'>;
export type NextTaskRequest = WithEnvDefaults<Partial<NextBody>, 'agent_id' | 'session_id'>;
export type RenewLeaseRequest = WithEnvDefaults<RenewBody, 'session_id'>;
export type ReleaseClaimRequest = WithEnvDefaults<ReleaseBody, 'session_id'>;
export type SubmitResultRequest = WithEnvDefaults<SubmitBody, 'session_id'>;
export type AddNoteRequest = WithEnvDefaults<NoteBody, 'session_id'>;
export type SuspendClaimRequest = WithEnvDefaults<SuspendBody, 'session_id'>;
export type ResumeClaimRequest = WithEnvDefaults<ResumeBody, 'session_id'>;
export type RecordReviewRequest = UnsignedBody<ReviewBody>;
export interface OperateTaskRequest {
  expected_generation: number;
  reason: string;
  agent_id?: string;
  session_id?: string;
  lease_duration_seconds?: number;
  result_id?: string;
  request_id?: string;
}
export type CreateKeyRequest = UnsignedBody<KeyBody>;
