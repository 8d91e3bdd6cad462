import type * as wire from '../coordinator/wire/index.js';
import type { ApiProblem } from './replies.js';

/** Request and reply types of the calls. */

export type CallReply<T> = Promise<T | ApiProblem>;
export type UnsignedBody<T> = Omit<T, 'signature'>;
/** Makes fields optional that default to GENESIS_AGENT and GENESIS_SESSION. */
type WithEnvDefaults<T, Left extends string> = UnsignedBody<Omit<T, Left>> & { [Name in Left]?: string };

export type ClaimTaskRequest = WithEnvDefaults<wire.ClaimBody, 'agent_id' | 'session_id'>;
export type NextTaskRequest = WithEnvDefaults<Partial<wire.NextBody>, 'agent_id' | 'session_id'>;
export type RenewLeaseRequest = WithEnvDefaults<wire.RenewBody, 'session_id'>;
export type ReleaseClaimRequest = Omit<WithEnvDefaults<wire.ReleaseBody, 'session_id'>, 'reason'> & {
  reason?: 'VOLUNTARY' | 'ERROR';
};
export type SubmitResultRequest = WithEnvDefaults<wire.SubmitBody, 'session_id'>;
export type AddNoteRequest = WithEnvDefaults<wire.NoteBody, 'session_id'>;
export type SuspendClaimRequest = WithEnvDefaults<wire.SuspendBody, 'session_id'>;
export type ResumeClaimRequest = WithEnvDefaults<wire.ResumeBody, 'session_id'>;
export type RecordReviewRequest = UnsignedBody<wire.ReviewBody>;
export interface OperateTaskRequest {
  expected_generation: number;
  reason: string;
  agent_id?: string;
  session_id?: string;
  lease_duration_seconds?: number;
  result_id?: string;
  request_id?: string;
}
export type CreateKeyRequest = UnsignedBody<wire.KeyBody>;

export interface ProjectSummary {
  readonly project_id: string;
  readonly position: number;
  readonly last_updated: string | null;
}
