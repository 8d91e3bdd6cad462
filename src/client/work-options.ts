import type { Briefing } from '../core/contract/briefing.js';
import type { WorkKind } from '../core/contract/values.js';
import type { ApiClient } from './api-client.js';
import type { Outbox, SubmitFinished, SubmitOutcome } from './outbox.js';
import type { LeaseRenewals } from './renewals.js';
import type { ApiProblem, GrantedClaim, NoteReply } from './replies.js';
import type { CheckReport } from './requests.js';

export interface WorkOptions {
  /** Default: GENESIS_AGENT, or else the name of the program and a short id. */
  readonly agent_id?: string;
  /** Default: GENESIS_SESSION, or a new session that is closed at the end unless results wait for the server or a person. */
  readonly session_id?: string;
  /** Default: tasks only. */
  readonly kinds?: readonly WorkKind[];
  /** Only tasks of these tracks. Default: all tracks. */
  readonly tracks?: readonly string[];
  readonly agent_role?: string;
  /** Default: estimated from the past durations of the track. */
  readonly lease_duration_seconds?: number;
  /** Maximum number of tasks and edges worked on concurrently. */
  readonly concurrency?: number;
  /**
   * When the loop ends. `done` (default): when all work of the kinds and tracks is complete. `idle`: when no work is ready.
   * `stopped`: only when `signal` aborts.
   */
  readonly until?: 'done' | 'idle' | 'stopped';
  /** Stops the loop: handlers are aborted, their claims released, finished results submitted. */
  readonly signal?: AbortSignal;
  /** Called as soon as the outcome of a task or edge is known, before the next one is claimed. */
  readonly onEnded?: (ended: EndedWork) => void | Promise<void>;
  /** Called when no work can be claimed, with the server's advice, and again when the advice changes. */
  readonly onIdle?: (advice: string) => void;
}

/** How the work on one task or edge ended. */
export interface EndedWork {
  readonly task_id: string;
  readonly generation: number;
  /**
   * `escalated`: a person must decide on the result. `lost`: the claim was lost before there was a result. `pending`:
   * the result is in the outbox, unanswered.
   */
  readonly outcome: 'accepted' | 'escalated' | 'refused' | 'failed' | 'lost' | 'released' | 'pending';
  /**
   * The reference of the accepted result, the reason of a refusal (with the failing checks) or of a loss, or the error; for
   * an escalated or pending result a sentence.
   */
  readonly message: string;
  /** The server's answer to the result; null if there is none. */
  readonly submission: SubmitOutcome | null;
}

export interface Work {
  /** The id of the task, or `FEATURE#EDGE`. */
  readonly task_id: string;
  /** In single-agent mode an edge's claim has no lease. */
  readonly claim: GrantedClaim;
  readonly briefing: Briefing | null;
}

export interface WorkContext {
  /** Aborts when the claim is lost or may be lost (ClaimLost), and when the loop is stopped. */
  readonly signal: AbortSignal;
  /**
   * Whether the lease certainly lasts now and no loss is known. Correct even within a long synchronous turn, in which no
   * signal fires.
   */
  readonly held: () => boolean;
  /** Sets metadata to submit with the result, such as the machine on which it was made. */
  readonly setMetadata: (metadata: Readonly<Record<string, unknown>>) => void;
  readonly note: (text: string) => Promise<NoteReply | ApiProblem>;
  /** Stops claiming; the loop ends once the work under way is done. */
  readonly stop: () => void;
}

/** What a handler may return for an edge. Any other value counts as the result, without results of checks. */
export interface EdgeResult {
  readonly result: unknown;
  /** The results of the edge's checks (see the briefing). */
  readonly evaluators: readonly CheckReport[] | undefined;
}

/** Returns the result as JSON data, for an edge optionally as an `EdgeResult`. */
export type WorkHandler = (work: Work, context: WorkContext) => Promise<unknown>;

export interface WorkSummary {
  /** Accepted results, including those finished by an earlier run. */
  readonly accepted: number;
  /** Results that a person must decide on. */
  readonly escalated: number;
  readonly refused: number;
  /** Handlers that threw while they held the claim. */
  readonly failed: number;
  /** Claims lost before there was a result. */
  readonly lost: number;
  /** Claims released because the loop was stopped. */
  readonly released: number;
  /** Finished results that the server has not answered. The next run sends those that could be written to the outbox. */
  readonly pending: number;
  /** Whether the loop ended because all work of its kinds and tracks is complete. */
  readonly is_done: boolean;
  readonly outcomes: readonly SubmitOutcome[];
}

export interface WorkServices {
  readonly client: ApiClient;
  readonly outbox: Outbox;
  readonly renewals: LeaseRenewals;
  readonly submit: SubmitFinished;
}
