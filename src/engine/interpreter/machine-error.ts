/** An error inside a machine, by the name that `Retry` and `Catch` compare. */
export class MachineError extends Error {
  constructor(
    override readonly name: string,
    message: string,
  ) {
    super(message);
  }
}

/** Errors of the language itself. No `Retry` or `Catch` matches them by `States.ALL`. */
const TERMINAL_ERRORS: ReadonlySet<string> = new Set(['States.Runtime', 'States.DataLimitExceeded']);

/** Whether a retrier or a catcher with these names applies to the error. */
export function isMatched(errorEquals: readonly string[], error: string): boolean {
  if (errorEquals.includes(error)) return true;
  if (TERMINAL_ERRORS.has(error)) return false;
  if (errorEquals.includes('States.ALL')) return true;
  return errorEquals.includes('States.TaskFailed') && error !== 'States.Timeout';
}

export const runtimeError = (message: string): MachineError => new MachineError('States.Runtime', message);
