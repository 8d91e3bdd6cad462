/** What is wrong with the request or the infrastructure, as opposed to a refusal decided by the rules. */
export const PROBLEM_CODES = [
  'INVALID_REQUEST',
  'INVALID_LEASE',
  'CLAIM_ID_REQUIRED',
  'IDEMPOTENCY_CONFLICT',
  'INVALID_PLAN',
  'PLAN_CHANGED',
  'INVALID_EVENT',
  'INVALID_METHODOLOGY',
  'BLOB_MISSING',
  'NOT_FOUND',
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'SIGNATURE_REQUIRED',
  'SIGNATURE_INVALID',
  'CURSOR_AHEAD',
  'UNAVAILABLE',
  'LOG_DAMAGED',
  'UNKNOWN',
] as const;
export type ProblemCode = (typeof PROBLEM_CODES)[number];

export interface FieldFault {
  /** Where a fault has a name of its own, as those of a plan do. */
  readonly code?: string;
  /** Of a workspace: where it stands. */
  readonly file?: string;
  readonly path: string;
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
}

/** A value, not an exception: every operation answers with its result or with one of these. */
export interface Problem {
  readonly problem: ProblemCode;
  /** What happened and what to do next, for a person. */
  readonly detail: string;
  readonly faults?: readonly FieldFault[];
}

/** What every operation answers with. */
export type AsyncReply<T> = Promise<T | Problem>;

export const problem = (code: ProblemCode, detail: string, faults?: readonly FieldFault[]): Problem =>
  faults === undefined ? { problem: code, detail } : { problem: code, detail, faults };

/** Codes of commands on which nothing was decided: each may be sent again as it is. */
const UNDECIDED_CODES: ReadonlySet<ProblemCode> = new Set(['UNAVAILABLE', 'LOG_DAMAGED', 'UNKNOWN']);

export const isUndecided = (reply: unknown): reply is Problem =>
  isProblem(reply) && UNDECIDED_CODES.has(reply.problem);

/** The credential stopped being valid after the call was let in: revoked, expired, or an open server was closed. */
export const unauthorizedProblem = (): Problem =>
  problem(
    'UNAUTHENTICATED',
    'The credential of this call was revoked or has expired. Authenticate again with a valid one.',
  );

export const isProblem = (reply: unknown): reply is Problem =>
  typeof reply === 'object' && reply !== null && 'problem' in reply;
