import type * as wire from '../coordinator/wire.js';
import type { Problem } from './replies.js';

/** What calls are given, and how they answer. */

export type Reply<T> = Promise<T | Problem>;
export type Body<T> = Omit<T, 'signature'>;
/** Agent and session may be left to GENESIS_AGENT and GENESIS_SESSION. */
type Ours<T, Left extends string> = Body<Omit<T, Left>> & { [Name in Left]?: string };

export type ClaimAsked = Ours<wire.ClaimBody, 'agent_id' | 'session_id'>;
export type NextAsked = Ours<Partial<wire.NextBody>, 'agent_id' | 'session_id'>;
export type RenewAsked = Ours<wire.RenewBody, 'session_id'>;
export type ReleaseAsked = Omit<Ours<wire.ReleaseBody, 'session_id'>, 'reason'> & {
  reason?: 'VOLUNTARY' | 'ERROR';
};
export type SubmitAsked = Ours<wire.SubmitBody, 'session_id'>;
export type NoteAsked = Ours<wire.NoteBody, 'session_id'>;
export type SuspendAsked = Ours<wire.SuspendBody, 'session_id'>;
export type ResumeAsked = Ours<wire.ResumeBody, 'session_id'>;
export type ReviewAsked = Body<wire.ReviewBody>;
export interface OperateAsked {
  expected_generation: number;
  reason: string;
  agent_id?: string;
  session_id?: string;
  lease_duration_seconds?: number;
  result_id?: string;
  request_id?: string;
}
export type KeyAsked = Body<wire.KeyBody>;

export interface ProjectSummary {
  readonly project_id: string;
  readonly position: number;
  readonly last_updated: string | null;
}
