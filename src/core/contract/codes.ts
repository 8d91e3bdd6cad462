import { REVIEW_DECISIONS } from '../claims/head.js';
import { genCommand } from '../methodology/definition/command.js';

/**
 * Every code of the wire contract: refusals, successes and problems. No schema library here, so that the rules and the command
 * line can use the codes without loading one. A list of refusals has the order in which the rules are checked.
 */

export const CLAIM_REFUSALS = [
  'UNKNOWN_PROJECT',
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
  'DENIED_BATCH',
  'NOTHING_READY',
] as const;
/** A handle that is not valid for the claim. */
export const HANDLE_REFUSALS = ['NO_CLAIM', 'GENERATION_MISMATCH', 'SESSION_MISMATCH'] as const;
export const RENEWAL_REFUSALS = [...HANDLE_REFUSALS, 'ALREADY_EXPIRED'] as const;
export const SUBMISSION_REFUSALS = [
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
] as const;
export const GATE_REFUSALS = [
  ...RENEWAL_REFUSALS,
  'STALE_REVIEW',
  'ALREADY_DECIDED',
  'DEPENDENCY_CHANGED',
  'NOT_CONVERGED',
] as const;
export const OPERATOR_REFUSALS = [
  'GENERATION_MISMATCH',
  'NO_CLAIM',
  'UNKNOWN_TASK',
  'SESSION_CLOSED',
  'DENIED_SINGLE_AGENT',
  'DENIED_COMPLETED',
  'DENIED_DEPENDENCIES',
  'DENIED_PARALLEL',
  'DENIED_LIMIT',
  'NOT_COMPLETED',
  'UNKNOWN_RESULT',
  'NOT_CONVERGED',
] as const;
/** Why an imported convergence was not adopted. */
export const TRUST_REFUSALS = [
  'NOT_INITIALISED',
  'UNKNOWN_TASK',
  'DENIED_COMPLETED',
  'GENERATION_MISMATCH',
  'DENIED_HELD',
  'UNKNOWN_RESULT',
] as const;
/** The last two codes: the reported end of a run contradicts the state of its edge. */
export const APPEND_REFUSALS = [
  'UNKNOWN_TASK',
  ...HANDLE_REFUSALS,
  'NOT_CONVERGED',
  'TASK_ALREADY_COMPLETED',
] as const;
export const SESSION_REFUSALS = ['DENIED_LIMIT', 'SESSION_CLOSED', 'PUBLIC_KEY_CONFLICT'] as const;
export const SPAWN_REFUSALS = [
  'NOT_INITIALISED',
  'UNKNOWN_FEATURE',
  'FEATURE_EXISTS',
  'UNKNOWN_PROFILE',
  'PARENT_CONVERGED',
  'UNKNOWN_EDGE',
  'NESTED_TOO_DEEP',
  'INVALID_DURATION',
  'PARENT_TIME_BOX',
] as const;
export const FOLD_BACK_REFUSALS = [
  'NOT_INITIALISED',
  'UNKNOWN_FEATURE',
  'NO_PARENT',
  'ALREADY_FOLDED_BACK',
  'TIME_BOX_RUNNING',
  'NOT_CONVERGED',
] as const;
export const CHECKPOINT_REFUSALS = ['NOT_INITIALISED', 'UNKNOWN_FEATURE'] as const;
export const VERSION_RELEASE_REFUSALS = ['NOT_INITIALISED', 'VERSION_EXISTS', 'NOT_READY'] as const;

export const PROPOSE_REFUSALS = [...HANDLE_REFUSALS, 'TASK_ALREADY_COMPLETED'] as const;
export const EVIDENCE_REFUSALS = ['UNKNOWN_RUNNER', 'RUNNER_REVOKED', 'NO_CANDIDATE', 'BASE_MOVED'] as const;

export const ITERATE_REFUSALS = [
  'NOT_INITIALISED',
  'UNKNOWN_FEATURE',
  'UNKNOWN_EDGE',
  'UNKNOWN_ROLE',
  'UNKNOWN_RUN',
  'RUN_NOT_ENDED',
  'NO_CONSTRUCTOR',
  'DENIED_COMPLETED',
  'DENIED_HELD',
] as const;
export const CANCEL_REFUSALS = ['UNKNOWN_RUN', 'RUN_ENDED', 'GENERATION_MISMATCH'] as const;

export const AUDIT_KEY_REFUSALS = [
  'NO_AUDIT_KEY',
  'UNKNOWN_AUDIT_KEY',
  'AUDIT_KEY_NOT_NEW',
  'AUDIT_KEY_ENDED',
] as const;

export type ClaimRefusal = (typeof CLAIM_REFUSALS)[number];
export type HandleRefusal = (typeof HANDLE_REFUSALS)[number];
export type RenewalRefusal = (typeof RENEWAL_REFUSALS)[number];
export type SubmissionRefusal = (typeof SUBMISSION_REFUSALS)[number];
/** Refusals of a result after which the holder keeps its claim. */
const CLAIM_KEPT: ReadonlySet<string> = new Set([
  'RESULT_TOO_LARGE',
  'DEPENDENCY_CHANGED',
  'OUTSIDE_AUTHORITY',
  'NOT_CONVERGED',
] satisfies SubmissionRefusal[]);
export const isClaimKept = (reason: string): boolean => CLAIM_KEPT.has(reason);
export type GateRefusal = (typeof GATE_REFUSALS)[number];
export type OperatorRefusal = (typeof OPERATOR_REFUSALS)[number];
export type AppendRefusal = (typeof APPEND_REFUSALS)[number];
export type SpawnRefusal = (typeof SPAWN_REFUSALS)[number];
export type FoldBackRefusal = (typeof FOLD_BACK_REFUSALS)[number];
export type CheckpointRefusal = (typeof CHECKPOINT_REFUSALS)[number];
export type VersionReleaseRefusal = (typeof VERSION_RELEASE_REFUSALS)[number];
export type ProposeRefusal = (typeof PROPOSE_REFUSALS)[number];
export type EvidenceRefusal = (typeof EVIDENCE_REFUSALS)[number];
export type IterateRefusal = (typeof ITERATE_REFUSALS)[number];
export type CancelRefusal = (typeof CANCEL_REFUSALS)[number];
export type AuditKeyRefusal = (typeof AUDIT_KEY_REFUSALS)[number];

/** Codes of a command that took effect, or already had. */
export const GATE_SUCCESSES = ['SUSPENDED', 'RESUMED', ...REVIEW_DECISIONS] as const;
export type GateSuccess = (typeof GATE_SUCCESSES)[number];
export const OPERATOR_SUCCESSES = ['FORCED', 'REASSIGNED', 'RESET', 'HELD', 'UNHELD', 'ADOPTED'] as const;
export type OperatorSuccess = (typeof OPERATOR_SUCCESSES)[number];
export const AUDIT_KEY_SUCCESSES = ['REPLACED', 'REVOKED'] as const;
export type AuditKeySuccess = (typeof AUDIT_KEY_SUCCESSES)[number];
export type SuccessCode =
  | 'GRANTED'
  | 'RENEWED'
  | 'RELEASED'
  | 'NOTED'
  | 'ACCEPTED'
  | GateSuccess
  | OperatorSuccess;

/** What to do next after each refusal, in one sentence or two, readable by people and models. */
const ADVICE = {
  UNKNOWN_PROJECT:
    'Check the name (gen projects), or make the project: gen plan import FILE, or gen init in a workspace.',
  UNKNOWN_TASK: 'Check the id against the plan (gen plan show), or add the task (gen task add).',
  SESSION_CLOSED: 'The session is closed. Open a new session and use that.',
  DENIED_SINGLE_AGENT:
    'This project is in single-agent mode: only the agent_id primary can claim. To allow other agents, set coordination.mode: multi in coordination.yml and run gen init again.',
  DENIED_COMPLETED:
    'The task is completed. Claim another task, or have an operator reset this one: gen task reset ID --reason TEXT',
  DENIED_HELD:
    'The task is on hold. Claim another task, or have an operator lift the hold: gen task unhold ID --reason TEXT',
  DENIED_ACTIVE_CLAIM:
    'Another agent holds the task. Claim another task. To see until when this one is held: gen task explain ID',
  DENIED_DEPENDENCIES: 'Wait until its dependencies are completed, or claim another task.',
  DENIED_PARALLEL:
    'Other agents work on the same modules. Claim an edge of a feature that shares none, or retry when the listed holders have finished.',
  DENIED_BACKOFF: 'The last attempt failed. Retry at retry_at, or claim another task.',
  DENIED_LIMIT:
    'A limit is reached. Release a claim or close a session that you no longer need, or have an admin raise the limit.',
  DENIED_BATCH:
    'Another claim of this all_or_nothing batch was refused, so none was granted. Retry without that claim, or with mode partial.',
  NOTHING_READY:
    'No work is ready. Retry when work in waiting_for is completed, or wait for work: pass wait_seconds, or gen next --wait.',
  NO_CLAIM: 'The task is not claimed. To continue work on it, claim it again.',
  GENERATION_MISMATCH:
    'The task is now at another generation. Agent: stop, keep your drafts and claim other work. Operator: read the task (gen task show) and retry with its generation.',
  SESSION_MISMATCH: 'This handle does not match the grant. Use the handle that the grant returned.',
  ALREADY_EXPIRED:
    'The lease has expired. Claim the task again, or submit your result if the task was not claimed again.',
  FUTURE_GENERATION:
    'This generation was never granted. Check the handle. If it is the one from the grant, report this to an operator.',
  STALE_GENERATION:
    'The task has since been granted again. Stop work on it. If parked has an id, an operator can adopt your result (gen task adopt).',
  TASK_ALREADY_COMPLETED: 'Another result was already accepted for this task. Claim another task.',
  RESULT_TOO_LARGE: 'Make the result smaller, or have an admin raise max_result_size_bytes (gen limits).',
  LEASE_EXPIRED:
    'The result came after the lease expired. Claim the task again, or have an operator adopt the parked result (gen task adopt).',
  DEPENDENCY_CHANGED:
    'A dependency has changed since the claim. Release the task, claim it again and rebuild on the new result.',
  OUTSIDE_AUTHORITY:
    'The role of this claim may not converge this edge. Release it, so that a person or an agent with another role can claim it.',
  NOT_CONVERGED:
    'Required checks have not passed. You still hold the claim: fix what failing lists, and submit again with the new reports in evaluators.',
  ESCALATED:
    'A person must approve this result (gen review). The claim is suspended: wait for the decision, or claim another task.',
  STALE_REVIEW:
    'This candidate does not wait for a decision now. List those that wait with gen review --list, and decide on one of them.',
  ALREADY_DECIDED: 'This candidate was already decided. List what is still waiting: gen review --list.',
  NOT_COMPLETED: 'Only a completed task can be reset. To end a claim: gen task force-release.',
  UNKNOWN_RESULT: 'There is no parked result with that id. List the results: gen task history.',
  PUBLIC_KEY_CONFLICT:
    'The session was opened with another public key, or without one. Open a new session with this key.',
  NOT_INITIALISED: 'The project is not initialised. Run gen init, or POST /api/init.',
  UNKNOWN_FEATURE: 'List the features: gen status.',
  FEATURE_EXISTS: 'Choose another id.',
  UNKNOWN_PROFILE: 'Use one of the known profiles.',
  PARENT_CONVERGED: 'The parent has converged. Spawn from a feature that is still in progress.',
  UNKNOWN_EDGE: 'List the edges of the feature with gen status --feature.',
  NESTED_TOO_DEEP: 'Fold back one of its ancestors first: gen spawn fold-back ID.',
  INVALID_DURATION: 'Use a form like 2 weeks, 3 days or 1h30m.',
  PARENT_TIME_BOX: 'Use a shorter duration.',
  NO_PARENT: 'This feature has no parent, so there is nothing to fold back. Submit its edges instead.',
  ALREADY_FOLDED_BACK: 'A feature folds back only once. Spawn a new one for further findings.',
  TIME_BOX_RUNNING: 'Continue until the time box ends, or fold back with --answered.',
  VERSION_EXISTS: 'Choose a higher version.',
  NOT_READY: 'Readiness checks of the release have failed. Do what they say, then release again.',
  NO_AUDIT_KEY:
    'The server signs no checkpoints, so it has no key to enrol. Start it with one: see GENESIS_AUDIT_KEY.',
  UNKNOWN_AUDIT_KEY: 'No audit key of the project has this id. List them: gen audit keys.',
  AUDIT_KEY_NOT_NEW:
    'The server still signs with this key, or with another key that is no longer active in this project. Give the server a new key (gen audit rotate), restart it, and repeat the command.',
  UNKNOWN_RUNNER: 'No runner of the project has this id. An admin enrols one: gen runner enrol.',
  RUNNER_REVOKED: 'This runner is revoked. An admin enrols another, with a new key: gen runner enrol.',
  NO_CANDIDATE:
    'This candidate does not wait for evidence: its edge has another candidate or generation, or has ended. List those that wait: gen runner candidates.',
  BASE_MOVED:
    'The base has moved: another result was accepted since the checks ran. Fetch the base and run the checks again.',
  UNKNOWN_ROLE: 'The project has no such role. Use one of the roles in agent_roles.yml.',
  UNKNOWN_RUN: 'No run of the project has this id. List them: gen runs.',
  RUN_ENDED: 'This run has ended. To run the edge again: gen runs retry.',
  RUN_NOT_ENDED: 'This run has not ended: gen iterate continues it. To end it: gen runs cancel.',
  NO_CONSTRUCTOR:
    'The edge has no constructor. Set construct in engine.yml or in the file of the edge, and run gen init.',
  AUDIT_KEY_ENDED: 'This audit key has ended already. See which are active: gen audit keys.',
} as const satisfies Readonly<Record<string, string>>;
export type RefusalCode = keyof typeof ADVICE;

/** The HTTP status of refusals that are not a conflict. All others have 409. */
const STATUS_OF_REFUSAL: Readonly<Partial<Record<RefusalCode, number>>> = {
  UNKNOWN_PROJECT: 404,
  UNKNOWN_TASK: 404,
  UNKNOWN_AUDIT_KEY: 404,
  UNKNOWN_RUNNER: 404,
  UNKNOWN_RUN: 404,
  DENIED_LIMIT: 429,
  RESULT_TOO_LARGE: 413,
  // Not an error: a person decides.
  ESCALATED: 202,
};

/** Problems with the request or the infrastructure, as opposed to refusals by the rules, with their HTTP status. */
export const PROBLEM_STATUS = {
  INVALID_REQUEST: 400,
  INVALID_LEASE: 400,
  INVALID_PLAN: 400,
  INVALID_EVENT: 400,
  INVALID_METHODOLOGY: 400,
  CLAIM_ID_REQUIRED: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  SIGNATURE_REQUIRED: 403,
  SIGNATURE_INVALID: 403,
  NOT_FOUND: 404,
  UNKNOWN_PROJECT: 404,
  BLOB_MISSING: 404,
  METHOD_NOT_ALLOWED: 405,
  TIMEOUT: 408,
  IDEMPOTENCY_CONFLICT: 409,
  CURSOR_AHEAD: 409,
  PLAN_CHANGED: 412,
  BODY_TOO_LARGE: 413,
  RATE_LIMITED: 429,
  HEADERS_TOO_LARGE: 431,
  INTERNAL: 500,
  UNAVAILABLE: 503,
  LOG_DAMAGED: 503,
  UNKNOWN: 504,
} as const;
export type ProblemCode = keyof typeof PROBLEM_STATUS;
export const PROBLEM_CODES = Object.keys(PROBLEM_STATUS) as [ProblemCode, ...ProblemCode[]];

/** `subject` is the requested subject, for codes whose advice names it. */
export function adviceFor(code: RefusalCode, subject?: string): string {
  // A log can contain refusals of another version, whose codes are not in the table.
  const advice = ADVICE[code] ?? 'See the history of the task: gen task history.';
  if (subject === undefined) return advice;
  if (code === 'UNKNOWN_TASK') return `${subject} is not in the plan. ${advice}`;
  return advice.replace(COMMAND_WITH_ID, (_, verb: string) => genCommand('task', verb, subject));
}

const COMMAND_WITH_ID = /\bgen task ([a-z-]+) ID\b/;

export const refusalStatus = (code: RefusalCode): number => STATUS_OF_REFUSAL[code] ?? 409;

/** The HTTP status of a reply: its refusal's status if `success` or `accepted` is false, otherwise 200. */
export function statusOf(reply: { success?: unknown; accepted?: unknown; reason?: unknown }): number {
  const isRefused = reply.success === false || reply.accepted === false;
  return isRefused ? refusalStatus(reply.reason as RefusalCode) : 200;
}

/** Retry-After values, by status. */
export const RETRY_AFTER_SECONDS: Readonly<Record<number, string>> = { 429: '1', 503: '1' };
