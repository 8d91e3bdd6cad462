import type { EventDraft } from '../events/envelope.js';
import type { Head, ReviewDecision, SubmittedResult } from './head.js';
import type { Rules } from './policy.js';

/** Handle of a grant. The caller sends it with every later command on the claim. */
export interface ClaimHandle {
  readonly generation: number;
  readonly session_id: string;
  /** Null only if the caller's credential allows the claim id to be omitted. */
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

/** State of the plan and the tenant that affects a claim. The coordinator collects it, `decide` evaluates it. */
export interface ClaimFacts {
  readonly known: boolean;
  readonly session_closed: boolean;
  readonly waiting_for: readonly string[];
  /** Digest of the results this work depends on; null if it depends on none. */
  readonly inputs: string | null;
  /** Name of the limit that has no permit left. */
  readonly reached_limit: string | null;
  /** Facts about an edge of a configured project. Absent for a task, and in a project that was never configured. */
  readonly edge?: EdgeFacts;
}

export interface EdgeFacts {
  /** Why the edge cannot be claimed, as a sentence for a person; null if it exists. */
  readonly unknown_message: string | null;
  /** The project allows one agent, and a different one makes this claim. */
  readonly second_agent: boolean;
  /** Live claims of other agents whose work touches the same modules. */
  readonly shared: readonly SharedClaim[];
  /** Shared modules cause a refusal, not only a warning. */
  readonly enforced: boolean;
  readonly warnings: readonly string[];
}

/** A claim of another agent, and the modules that both claims touch. */
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
  /** Grant of the generation that the handle names, read from the log; null if it was never granted. */
  readonly past_grant: PastGrant | null;
  /** Whether the claim's role may converge this edge, and what to do if not. Tasks need no role. */
  readonly authority: 'granted' | 'escalate' | 'reject' | 'warn';
  /** Convergence requirements of an edge in a configured project. Absent: none. */
  readonly convergence?: ConvergenceFacts;
  readonly iteration: number;
  /** The subject already holds the maximum number of parked results of this agent. */
  readonly parking_full: boolean;
  /** The tenant has no permit left for another live claim. Known only after the store has reported it. */
  readonly is_permit_limit_reached: boolean;
}
export interface ConvergenceFacts {
  /** Required checks without a pass, each with the reason. */
  readonly failing: readonly FailingCheck[];
  /** A human must review the result, whatever the role and the reported checks. */
  readonly needs_human: boolean;
  /** Why the role is not sufficient; null if it is. */
  readonly authority_reason: string | null;
  /** Paths that exceed the role's authority, if paths are the reason. */
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
  /** Current digest of the results the work depends on. */
  readonly inputs: string | null;
}

/** Fields of a human's command on a subject. A human names the expected generation too. */
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
  /** The parked result and its original grant; null if no parked result has that id. */
  readonly parked: (PastGrant & { readonly result: SubmittedResult }) | null;
  /** Failing checks of an edge that a human cannot override either. */
  readonly failing?: readonly FailingCheck[];
}
/** The holder's note for later holders. */
export interface NoteCommand {
  readonly type: 'note';
  readonly handle: ClaimHandle;
  readonly text: string;
}
/** The sweeper's command: records an expiry that has already taken effect. */
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

/** Derives the claim id of a grant. Depends on its inputs only; the caller of `decide` keeps the secret. */
export type ClaimIdOf = (grant: { generation: number; request_id: string | null }) => string;

export interface Decision {
  readonly ok: boolean;
  readonly code: DecisionCode;
  /** Head on which the decision is based. */
  readonly head: Head;
  /** Head after the decision: the same object if nothing changes. */
  readonly next: Head;
  /** Events in order; empty for every refusal. */
  readonly events: readonly EventDraft[];
  /** Events that move no head, such as a refusal worth recording. */
  readonly loose_events: readonly EventDraft[];
  /** Earliest store time at which the decision may commit (a takeover). */
  readonly not_before_ms: number | null;
  /** The decision must commit before this store time (a renewal, a strict submission). */
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
  /** The refusal as text, if the code alone is not specific enough. */
  readonly says?: string;
  readonly shared?: readonly SharedClaim[];
  readonly warnings?: readonly string[];
  readonly failing?: readonly FailingCheck[];
}

/** Codes of a claim decision. In this list and those of the other commands, the order is the order of precedence. */
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
