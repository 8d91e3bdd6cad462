import type { EventDraft } from '../events/envelope.js';
import type { Head, ReviewDecision, SubmittedResult } from './head.js';
import type { Rules } from './policy.js';

/** What the caller was granted and shows again with everything it does. */
export interface ClaimHandle {
  readonly generation: number;
  readonly session_id: string;
  /** Null only where the caller's credential allows it to be left out. */
  readonly claim_id: string | null;
}

export interface ClaimCommand {
  readonly type: 'claim';
  readonly agent_id: string;
  readonly session_id: string;
  readonly agent_role: string | null;
  readonly user_id: string | null;
  /** Null: a claim without a lease. */
  readonly lease_seconds: number | null;
  readonly request_id: string | null;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly facts: ClaimFacts;
}

/** What the plan and the tenant say of a claim. Gathered by the coordinator, judged by `decide`. */
export interface ClaimFacts {
  readonly known: boolean;
  readonly session_closed: boolean;
  readonly waiting_for: readonly string[];
  /** Digest of the results this work builds on; null when it builds on none. */
  readonly inputs: string | null;
  /** The name of the limit that has no room left. */
  readonly reached_limit: string | null;
  /** What a configured project says of an edge. Absent: a task, or a project that was never configured. */
  readonly edge?: EdgeFacts;
}

export interface EdgeFacts {
  /** Why there is no such edge to claim, in a sentence; null: there is. */
  readonly unknown_message: string | null;
  /** One agent works in this project, and another asks. */
  readonly second_agent: boolean;
  /** What others hold now of work that touches the same modules. */
  readonly shared: readonly SharedClaim[];
  /** Shared modules are a reason to refuse, and not only to warn. */
  readonly enforced: boolean;
  readonly warnings: readonly string[];
}

/** Work that another agent holds, and the modules that it touches too. */
export interface SharedClaim {
  readonly subject: string;
  readonly agent_id: string;
  readonly shared_modules: readonly string[];
}

export interface RenewCommand {
  readonly type: 'renew';
  readonly handle: ClaimHandle;
  readonly lease_seconds: number | null;
}
export interface ReleaseCommand {
  readonly type: 'release';
  readonly handle: ClaimHandle;
  readonly reason: 'VOLUNTARY' | 'ERROR' | 'SESSION_CLOSED';
  readonly message: string | null;
}
export interface SubmitCommand {
  readonly type: 'submit';
  readonly handle: ClaimHandle;
  readonly result: SubmittedResult;
  readonly facts: SubmitFacts;
}
export interface SubmitFacts {
  readonly inputs: string | null;
  /** Who was granted the generation the handle names, from the log; null: nobody ever was. */
  readonly past_grant: PastGrant | null;
  /** Whether the claim's role may converge this edge, and what becomes of it where not. Tasks need no role. */
  readonly authority: 'granted' | 'escalate' | 'reject' | 'warn';
  /** What a configured project asks of an edge that is to converge. Absent: nothing. */
  readonly convergence?: ConvergenceFacts;
  readonly iteration: number;
  /** The subject keeps as many refused results of this agent as it may. */
  readonly parking_full: boolean;
  /** The tenant has no room for one more live claim. Known only once the store has said so. */
  readonly is_permit_limit_reached: boolean;
}
export interface ConvergenceFacts {
  /** Required checks that nobody has passed, each with what is wrong. */
  readonly failing: readonly FailingCheck[];
  /** A human must see the result, whoever made it and whatever was reported. */
  readonly needs_human: boolean;
  /** Why the role is not enough; null: it is. */
  readonly authority_reason: string | null;
  /** The paths that are the reason, where paths are. */
  readonly authority_paths?: readonly string[];
}
export interface FailingCheck {
  readonly name: string;
  readonly says: string;
}
export interface PastGrant {
  readonly generation: number;
  readonly agent_id: string;
  readonly session_id: string;
  readonly agent_role: string | null;
  readonly request_id: string | null;
}
export interface SuspendCommand {
  readonly type: 'suspend';
  readonly handle: ClaimHandle;
  readonly gate: { readonly iteration: number; readonly candidate_sha256: string } | null;
}
export interface ResumeCommand {
  readonly type: 'resume';
  readonly handle: ClaimHandle;
}
export interface ReviewCommand {
  readonly type: 'record_review';
  readonly generation: number;
  readonly iteration: number;
  readonly candidate_sha256: string;
  readonly decision: ReviewDecision;
  readonly reviewer: string;
  readonly comment: string | null;
  /** Digest of the results the work builds on, as they are now. */
  readonly inputs: string | null;
}

/** A human's word over a subject. The human too names the generation they saw. */
export interface OperatorFields {
  readonly expected_generation: number;
  readonly reason: string;
  readonly by: string;
}
export interface ForceReleaseCommand extends OperatorFields {
  readonly type: 'force_release';
}
export interface ReassignCommand extends OperatorFields {
  readonly type: 'reassign';
  readonly to: Omit<ClaimCommand, 'type'>;
}
export interface ResetCommand extends OperatorFields {
  readonly type: 'reset';
}
export interface HoldCommand extends OperatorFields {
  readonly type: 'hold';
}
export interface UnholdCommand extends OperatorFields {
  readonly type: 'unhold';
}
export interface AdoptCommand extends OperatorFields {
  readonly type: 'adopt';
  readonly session_id: string;
  readonly request_id: string | null;
  /** The parked result and whose it was; null: there is none by that id. */
  readonly parked: (PastGrant & { readonly result: SubmittedResult }) | null;
  /** Checks of an edge that not even a human may pass over. */
  readonly failing?: readonly FailingCheck[];
}
/** The holder's remark to whoever comes after. */
export interface NoteCommand {
  readonly type: 'note';
  readonly handle: ClaimHandle;
  readonly text: string;
}
/** The sweeper writes down what time has already decided. */
export interface ExpireCommand {
  readonly type: 'expire';
}

export type ClaimsCommand =
  | ClaimCommand
  | RenewCommand
  | ReleaseCommand
  | SubmitCommand
  | SuspendCommand
  | ResumeCommand
  | ReviewCommand
  | ForceReleaseCommand
  | ReassignCommand
  | ResetCommand
  | HoldCommand
  | UnholdCommand
  | AdoptCommand
  | NoteCommand
  | ExpireCommand;

/** Derives the claim id of a grant. A function of its inputs alone; the secret stays with the caller. */
export type ClaimIdOf = (grant: { generation: number; request_id: string | null }) => string;

export interface Decision {
  readonly ok: boolean;
  readonly code: DecisionCode;
  /** The head the decision was taken on. */
  readonly head: Head;
  /** The head it leads to: the same object when nothing happens. */
  readonly next: Head;
  /** What happened, in order; empty for every refusal. */
  readonly events: readonly EventDraft[];
  /** A refusal worth writing down. It moves no head. */
  readonly loose_events: readonly EventDraft[];
  /** The store's clock must have reached this (a takeover). */
  readonly not_before_ms: number | null;
  /** The store's clock must not have reached this (a renewal, a strict submission). */
  readonly not_after_ms: number | null;
  readonly details: DecisionDetails;
}

export interface DecisionDetails {
  readonly replayed?: boolean;
  readonly stale?: boolean;
  readonly late?: boolean;
  readonly waiting_for?: readonly string[];
  readonly hold_reason?: string;
  readonly retry_at_ms?: number;
  readonly limit?: string;
  readonly work_lost?: boolean;
  readonly parked?: string | null;
  readonly expires_at_ms?: number | null;
  readonly result?: SubmittedResult;
  /** The refusal in words, where its code alone does not say enough. */
  readonly says?: string;
  readonly shared?: readonly SharedClaim[];
  readonly warnings?: readonly string[];
  readonly failing?: readonly FailingCheck[];
}

/** Every answer the rules can give. The list in each decision table is its order of precedence. */
export const CLAIM_CODES = [
  'INVALID_LEASE',
  'UNKNOWN_TASK',
  'SESSION_CLOSED',
  'DENIED_SINGLE_AGENT',
  'DENIED_COMPLETED',
  'DENIED_HELD',
  'DENIED_ACTIVE_CLAIM',
  'DENIED_DEPENDENCIES',
  'DENIED_PARALLEL',
  'DENIED_BACKOFF',
  'DENIED_LIMIT',
  'GRANTED',
] as const;
export const RENEW_CODES = [
  'INVALID_LEASE',
  'NO_CLAIM',
  'GENERATION_MISMATCH',
  'SESSION_MISMATCH',
  'ALREADY_EXPIRED',
  'RENEWED',
] as const;
export const RELEASE_CODES = ['NO_CLAIM', 'GENERATION_MISMATCH', 'SESSION_MISMATCH', 'RELEASED'] as const;
export const SUBMIT_CODES = [
  'NO_CLAIM',
  'FUTURE_GENERATION',
  'STALE_GENERATION',
  'TASK_ALREADY_COMPLETED',
  'SESSION_MISMATCH',
  'RESULT_TOO_LARGE',
  'LEASE_EXPIRED',
  'DEPENDENCY_CHANGED',
  'OUTSIDE_AUTHORITY',
  'NOT_CONVERGED',
  'ESCALATED',
  'ACCEPTED',
] as const;
export const REVIEW_CODES = [
  'STALE_REVIEW',
  'ALREADY_DECIDED',
  'DEPENDENCY_CHANGED',
  'APPROVED',
  'REJECTED',
  'CHANGES_REQUESTED',
] as const;
export const OPERATOR_CODES = [
  'FORCED',
  'REASSIGNED',
  'RESET',
  'NOT_COMPLETED',
  'HELD',
  'UNHELD',
  'ADOPTED',
  'UNKNOWN_RESULT',
] as const;
export const OTHER_CODES = ['SUSPENDED', 'RESUMED', 'NOTED', 'EXPIRED', 'STALE', 'NOT_EXPIRED'] as const;

export type DecisionCode =
  | (typeof CLAIM_CODES)[number]
  | (typeof RENEW_CODES)[number]
  | (typeof RELEASE_CODES)[number]
  | (typeof SUBMIT_CODES)[number]
  | (typeof REVIEW_CODES)[number]
  | (typeof OPERATOR_CODES)[number]
  | (typeof OTHER_CODES)[number];

export interface DecisionContext {
  readonly now_ms: number;
  readonly rules: Rules;
  readonly claimIdOf: ClaimIdOf;
}
