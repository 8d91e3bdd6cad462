import type { ProblemCode } from '../../core/contract/codes.js';
import type { FieldFault } from '../../core/contract/problem.js';
import { LogDamaged, StoreBroken, StoreUnavailable } from '../../stores/store.js';

/** An error as a value, not an exception: every operation returns its result or a problem. */
export interface Problem {
  readonly problem: ProblemCode;
  /** A human-readable text: what happened and what to do next. */
  readonly detail: string;
  readonly faults?: readonly FieldFault[];
}

export type AsyncReply<T> = Promise<T | Problem>;

export const problem = (code: ProblemCode, detail: string, faults?: readonly FieldFault[]): Problem =>
  faults === undefined ? { problem: code, detail } : { problem: code, detail, faults };

/** A problem with one field of the request. */
export const fieldProblem = (path: string, message: string, code: ProblemCode = 'INVALID_REQUEST'): Problem =>
  problem(code, `${path}: ${message}`, [{ path, message }]);

/** The problem for a store error whose command had no effect; null if it may have had one, or if the error is a bug. */
export function problemFromStoreError(error: unknown): Problem | null {
  if (error instanceof StoreUnavailable) return problem('UNAVAILABLE', `Nothing happened: ${error.message}`);
  if (!(error instanceof LogDamaged)) return null;
  const { file, line, why } = error.damage;
  return problem('LOG_DAMAGED', `Nothing happened: ${error.message}`, [
    { file, path: '', message: why, line },
  ]);
}

/** Codes of commands that were not decided, or whose outcome is not known. The command can be sent again unchanged. */
const UNDECIDED_CODES: ReadonlySet<ProblemCode> = new Set(['UNAVAILABLE', 'LOG_DAMAGED', 'UNKNOWN']);

export const isUndecided = (reply: unknown): reply is Problem =>
  isProblem(reply) && UNDECIDED_CODES.has(reply.problem);

/**
 * The problem for a call whose credential became invalid after the call was admitted: it was revoked, it expired, or
 * authentication was switched on.
 */
export const unauthorizedProblem = (): Problem =>
  problem(
    'UNAUTHENTICATED',
    'The credential of this call was revoked or has expired. Authenticate again with a valid credential.',
  );

export const isProblem = (reply: unknown): reply is Problem =>
  typeof reply === 'object' && reply !== null && 'problem' in reply;

/** Turns an unreachable store or a damaged log into a problem. */
export async function catchStoreErrors<T>(work: () => AsyncReply<T>): AsyncReply<T> {
  try {
    return await work();
  } catch (error) {
    const storeError = problemFromStoreError(error);
    if (storeError !== null) return storeError;
    throw error;
  }
}

/** The problem for a failed commit: it had no effect, or it may have had one. */
export function problemFromError(error: unknown): Problem {
  return (
    problemFromStoreError(error) ??
    problem(
      'UNKNOWN',
      `The command may have taken effect. Retry it with the same request_id. Cause: ${describeUncertainty(error)}`,
    )
  );
}

/** The error of a commit as text for a client. The error of a broken store names files of the server, so it is left out. */
function describeUncertainty(error: unknown): string {
  if (error instanceof StoreBroken) return 'the store has stopped, and its operator must start it again.';
  return error instanceof Error ? error.message : String(error);
}
