/** Faults of the request or the infrastructure, as opposed to denials by the rules. */
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
  /** The fault's own code, if it has one, as plan faults do. */
  readonly code?: string;
  /** The workspace file of the fault. */
  readonly file?: string;
  readonly path: string;
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
}

/** An error as a value, not an exception: every operation returns its result or a problem. */
export interface Problem {
  readonly problem: ProblemCode;
  /** What happened and what to do next, for people. */
  readonly detail: string;
  readonly faults?: readonly FieldFault[];
}

export type AsyncReply<T> = Promise<T | Problem>;

export const problem = (code: ProblemCode, detail: string, faults?: readonly FieldFault[]): Problem =>
  faults === undefined ? { problem: code, detail } : { problem: code, detail, faults };

/** Codes of commands whose outcome was not decided. The same command can be sent again unchanged. */
const UNDECIDED_CODES: ReadonlySet<ProblemCode> = new Set(['UNAVAILABLE', 'LOG_DAMAGED', 'UNKNOWN']);

export const isUndecided = (reply: unknown): reply is Problem =>
  isProblem(reply) && UNDECIDED_CODES.has(reply.problem);

/** The credential became invalid after the call was admitted: revoked, expired, or authentication was switched on. */
export const unauthorizedProblem = (): Problem =>
  problem(
    'UNAUTHENTICATED',
    'The credential of this call was revoked or has expired. Authenticate again with a valid one.',
  );

export const isProblem = (reply: unknown): reply is Problem =>
  typeof reply === 'object' && reply !== null && 'problem' in reply;
