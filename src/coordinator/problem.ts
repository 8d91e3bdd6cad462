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
  'FORBIDDEN',
  'SIGNATURE_REQUIRED',
  'SIGNATURE_INVALID',
  'UNAVAILABLE',
  'UNKNOWN',
] as const;
export type ProblemCode = (typeof PROBLEM_CODES)[number];

export interface Fault {
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
  readonly faults?: readonly Fault[];
}

/** What every operation answers with. */
export type Reply<T> = Promise<T | Problem>;

export const problem = (code: ProblemCode, detail: string, faults?: readonly Fault[]): Problem =>
  faults === undefined ? { problem: code, detail } : { problem: code, detail, faults };

export const isProblem = (reply: unknown): reply is Problem =>
  typeof reply === 'object' && reply !== null && 'problem' in reply;
