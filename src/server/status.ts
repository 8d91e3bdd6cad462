import type { ProblemCode } from '../coordinator/wire/problem.js';
import type { DecisionCode } from '../core/claims/commands.js';

/** Problem codes of the HTTP layer, in addition to the coordinator's. */
export const HTTP_PROBLEM_CODES = [
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'METHOD_NOT_ALLOWED',
  'TIMEOUT',
  'BODY_TOO_LARGE',
  'RATE_LIMITED',
  'HEADERS_TOO_LARGE',
  'INTERNAL',
] as const;
export type HttpProblemCode = (typeof HTTP_PROBLEM_CODES)[number];
export type AnyProblemCode = ProblemCode | HttpProblemCode;

/** The HTTP status of each problem. */
export const PROBLEM_STATUS: Readonly<Record<AnyProblemCode, number>> = {
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
};

/** Refusals get 409 except these. ESCALATED is not a refusal: a human decides. */
const DEFAULT_REFUSAL_STATUS = 409;
const REFUSAL_STATUS: Readonly<Partial<Record<DecisionCode, number>>> = {
  UNKNOWN_TASK: 404,
  RESULT_TOO_LARGE: 413,
  DENIED_LIMIT: 429,
  ESCALATED: 202,
};

export const refusalStatus = (reason: string): number =>
  REFUSAL_STATUS[reason as DecisionCode] ?? DEFAULT_REFUSAL_STATUS;

/** Retry-After values, by status. */
export const RETRY_AFTER_SECONDS: Readonly<Record<number, string>> = { 429: '1', 503: '1' };

/** The status of a decision: refused if `success` or `accepted` is false. Replies without either are 200. */
export function statusOf(reply: object): number {
  const result = reply as { success?: unknown; accepted?: unknown; reason?: unknown };
  if (result.success === false || result.accepted === false) return refusalStatus(String(result.reason));
  return 200;
}
