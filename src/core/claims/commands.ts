import type { FailingCheck } from '../contract/checks.js';
import type {
  ClaimRefusal,
  GateRefusal,
  OperatorRefusal,
  RenewalRefusal,
  SubmissionRefusal,
  SuccessCode,
} from '../contract/codes.js';
import type { AdoptedFrom } from '../events/claim-payload-schemas.js';
import type { EventDraft } from '../events/envelope.js';
import type { Gate, Head, LastClaim, ReviewDecision, SubmittedResult } from './head.js';
import type { Rules } from './policy.js';
import type { GrantLimit } from './reached-limit.js';

/** Handle of a grant. The caller sends it with every later command on the claim. */
export interface ClaimHandle {
  readonly generation: number;
  readonly session_id: string;
  /** Null only if the caller's credential allows the claim id to be omitted. */
  readonly claim_id: string | null;
}

/** The agent that requests a grant, and the lease it requests. `lease_seconds` is null for a grant without a lease. */
export interface GrantRequest
  extends Pick<
    LastClaim,
    | 'agent_id'
    | 'session_id'
    | 'agent_role'
    | 'user_id'
    | 'principal'
    | 'lease_seconds'
    | 'request_id'
    | 'metadata'
  > {
  readonly facts: ClaimFacts;
}

/**
 * The sender of a claim request for work that its session may already hold. Only the credential that took the claim gets it
 * back.
 */
interface OwnClaimRequest {
  readonly principal: string;
  /** The credential that opened the session; null if the session has no record. */
  readonly session_principal: string | null;
  /** The agent role that the credential is limited to; null if the credential may act in any role. */
  readonly agent_role: string | null;
}

/** State of the plan and the tenant that affects a claim. The coordinator collects it, `decide` evaluates it. */
export interface ClaimFacts {
  readonly is_known_subject: boolean;
  readonly is_session_closed: boolean;
  readonly waiting_for: readonly string[];
  /** Identifies the results this work depends on: a list, or its digest if it is long. Null if it depends on none. */
  readonly inputs: string | null;
  /** The limit that has no permit left; null if a permit is left in every limit. */
  readonly reached_limit: GrantLimit | null;
  /** Facts about an edge of a configured project. Absent for a task, and in a project that was never configured. */
  readonly edge?: EdgeFacts;
}

export interface EdgeFacts {
  /** Why the edge cannot be claimed, as a sentence for a person; null if it exists. */
  readonly unknown_message: string | null;
  /** Whether the project allows only one agent (`SINGLE_AGENT`), and an agent with another id makes this claim. */
  readonly is_second_agent: boolean;
  /** Live claims of other agents whose work touches the same modules. */
  readonly overlapping_claims: readonly OverlappingClaim[];
  /** Whether shared modules cause a refusal, not only a warning. */
  readonly is_overlap_refused: boolean;
  readonly warnings: readonly string[];
}

/** A claim of another agent, and the modules that both claims touch. */
export interface OverlappingClaim {
  readonly subject: string;
  readonly agent_id: string;
  readonly shared_modules: readonly string[];
}

export interface SubmitFacts {
  readonly inputs: string | null;
  /** Grant of the generation that the handle names; null if it was never granted, or the log was not read for it. */
  readonly past_grant: PastGrant | null;
  /** Whether the claim's role may converge this edge, and what to do if not. Tasks need no role. */
  readonly authority: 'granted' | 'escalate' | 'reject' | 'warn';
  /** Convergence requirements of an edge in a configured project. Absent: none. */
  readonly convergence?: ConvergenceFacts;
  readonly iteration: number;
  /** Whether the subject already has the maximum number of parked results of this agent. False before the log was read. */
  readonly is_parking_full: boolean;
  /** Whether the tenant has no permit left for another live claim. False until the store has reported this. */
  readonly is_permit_limit_reached: boolean;
}
export interface ConvergenceFacts {
  /** Required checks without a pass, each with the reason. */
  readonly failing: readonly FailingCheck[];
  /** Whether a person must review the result, whatever the role and the reported checks. */
  readonly needs_human_review: boolean;
  /** Why the role is not sufficient; null if it is. */
  readonly authority_reason: string | null;
  /** Paths that exceed the role's authority, if paths are the reason. */
  readonly authority_paths?: readonly string[];
  /** Names of the checks that the profile leaves out, if they are the reason. */
  readonly omitted_checks?: readonly string[];
}
export interface PastGrant
  extends Pick<LastClaim, 'agent_id' | 'session_id' | 'agent_role' | 'request_id' | 'claimed_at_ms'> {
  readonly generation: number;
}

/** Fields of an operator's command on a subject. The command names the generation that the operator expects. */
export interface OperatorFields {
  readonly expected_generation: number;
  readonly reason: string;
  readonly by: string;
}

/** The fields of each command, by its type. */
interface CommandFields {
  claim: GrantRequest & { readonly resume?: OwnClaimRequest };
  renew: { readonly handle: ClaimHandle; readonly lease_seconds: number | null };
  release: {
    readonly handle: ClaimHandle;
    readonly reason: 'VOLUNTARY' | 'ERROR' | 'SESSION_CLOSED';
    readonly message: string | null;
  };
  submit: {
    readonly handle: ClaimHandle;
    readonly result: SubmittedResult;
    readonly facts: SubmitFacts;
    /** The caller. It is recorded as the agent if the handle belongs to no grant. */
    readonly sender: string;
  };
  suspend: {
    readonly handle: ClaimHandle;
    readonly gate: Pick<Gate, 'iteration' | 'candidate_sha256' | 'failing'> | null;
  };
  resume: { readonly handle: ClaimHandle };
  record_review: {
    readonly generation: number;
    readonly iteration: number;
    readonly candidate_sha256: string;
    readonly decision: ReviewDecision;
    readonly reviewer: string;
    /** The credential that pushed a review decided offline. Only this credential vouches for `reviewer`. */
    readonly pushed_by?: { readonly actor: string; readonly principal: string };
    readonly comment: string | null;
    /** Identifies the current results that the work depends on, as in `ClaimFacts`. */
    readonly inputs: string | null;
    /**
     * Deterministic checks of the stored candidate that have not passed, for example because their evidence has become
     * void. A reviewer cannot override them.
     */
    readonly failing?: readonly FailingCheck[];
  };
  force_release: OperatorFields;
  reassign: OperatorFields & { readonly to: GrantRequest };
  reset: OperatorFields;
  hold: OperatorFields;
  unhold: OperatorFields;
  adopt: OperatorFields & {
    readonly session_id: string;
    readonly request_id: string | null;
    /** What becomes the accepted result, and where it is from; null if there is no such result. */
    readonly adopted: { readonly from: AdoptedFrom; readonly result: SubmittedResult } | null;
    /** Failing checks of an edge. The operator cannot override them. */
    readonly failing?: readonly FailingCheck[];
  };
  /** The holder's note for later holders. */
  note: { readonly handle: ClaimHandle; readonly text: string };
  /** The sweeper's command: records an expiry that has already taken effect, or that the claim has become stale. */
  expire: unknown;
}

export type CommandType = keyof CommandFields;
export type SubjectCommand<Type extends CommandType = CommandType> = {
  [Each in Type]: CommandFields[Each] & { readonly type: Each };
}[Type];
export type ClaimCommand = SubjectCommand<'claim'>;

/** Derives the claim id of a grant, from the grant and a secret that only the implementation knows. */
export type ClaimIdOf = (grant: { generation: number; request_id: string | null }) => string;

export interface Decision {
  readonly ok: boolean;
  readonly code: DecisionCode;
  /** Head on which the decision is based. */
  readonly head: Head;
  /** Head after the decision: the same object if nothing changes. */
  readonly next: Head;
  /** The events, in order. Most refusals have none; some have a sign of life of the holder, or an escalation. */
  readonly events: readonly EventDraft[];
  /** Events that change no head, such as a refusal worth recording. */
  readonly loose_events: readonly EventDraft[];
  /** Earliest store time at which the decision may commit, for example a takeover; null: any. */
  readonly not_before_ms: number | null;
  /** The decision must commit before this store time, for example a renewal; null: no bound. */
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
  readonly limit?: GrantLimit;
  readonly limit_value?: number | null;
  readonly work_lost?: boolean;
  /** Id of the parked result; null if the result was not parked. */
  readonly parked?: string | null;
  readonly expires_at_ms?: number | null;
  readonly result?: SubmittedResult;
  /** The refusal as text, if the code alone is not specific enough. */
  readonly says?: string;
  readonly shared?: readonly OverlappingClaim[];
  readonly warnings?: readonly string[];
  readonly failing?: readonly FailingCheck[];
}

export type DecisionCode =
  // A problem on the wire, not a refusal: the request is not valid.
  | 'INVALID_LEASE'
  | ClaimRefusal
  | RenewalRefusal
  | SubmissionRefusal
  | GateRefusal
  | OperatorRefusal
  | SuccessCode
  // A decision of the sweeper: no caller waits for its reply.
  | 'EXPIRED'
  | 'STALE'
  | 'NOT_EXPIRED';

export interface DecisionContext {
  readonly now_ms: number;
  readonly rules: Rules;
  readonly claimIdOf: ClaimIdOf;
}

export type Decider<Command> = (head: Head, command: Command, context: DecisionContext) => Decision;
