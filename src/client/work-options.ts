import type { Briefing } from '../coordinator/wire.js';
import type { ApiClient } from './api-client.js';
import type { Outbox, SubmitFinished, SubmitOutcome } from './outbox.js';
import type { LeaseRenewals } from './renewals.js';
import type { LeasedClaim, NoteReply, Problem } from './replies.js';

export interface WorkOptions {
  /** GENESIS_AGENT. */
  readonly agent_id?: string;
  /** GENESIS_SESSION, else one of its own, closed at the end. */
  readonly session_id?: string;
  /** Left out: work of any track. */
  readonly tracks?: readonly string[];
  readonly agent_role?: string;
  /** Left out: proposed from what the track's work took before. */
  readonly lease_duration_seconds?: number;
  /** Pieces worked on at a time. */
  readonly concurrency?: number;
  /** `done` (default): until all work of the tracks is complete. `idle`: until none is ready. `stopped`: until the signal. */
  readonly until?: 'done' | 'idle' | 'stopped';
  /** Stops it: handlers are told, what they hold is released, what they finished is submitted. */
  readonly signal?: AbortSignal;
}

export interface Work {
  readonly task_id: string;
  readonly claim: LeasedClaim;
  readonly briefing: Briefing | null;
}

export interface WorkContext {
  /** Aborts the moment the claim is lost or may be (ClaimLost), and when the work is stopped. */
  readonly signal: AbortSignal;
  /** Whether the claim is surely ours now: right also within a long turn, where no signal is heard. */
  readonly held: () => boolean;
  readonly note: (text: string) => Promise<NoteReply | Problem>;
  /** Nothing is taken any more: the work ends with what is under way. */
  readonly stop: () => void;
}

export type WorkHandler = (work: Work, context: WorkContext) => Promise<unknown>;

export interface WorkSummary {
  /** Results that the server took, also those that an earlier run had finished. */
  readonly accepted: number;
  readonly refused: number;
  /** Handlers that threw while they held the claim. */
  readonly failed: number;
  /** Claims lost before there was a result. */
  readonly lost: number;
  /** Given back because the work was stopped. */
  readonly released: number;
  /** Finished and not answered yet: in the outbox, for the next start. */
  readonly pending: number;
  readonly outcomes: readonly SubmitOutcome[];
}

export interface WorkDependencies {
  readonly client: ApiClient;
  readonly outbox: Outbox;
  readonly renewals: LeaseRenewals;
  readonly submit: SubmitFinished;
}
