/** An error inside a machine. `Retry` and `Catch` compare its name. */
export class MachineError extends Error {
  constructor(
    override readonly name: string,
    message: string,
  ) {
    super(message);
  }
}

/** Whether a retrier or a catcher with these names applies to the error. */
export function isMatched(errorEquals: readonly string[], error: string): boolean {
  // The machine itself is faulty: this error always ends it.
  if (error === 'States.Runtime') return false;
  if (errorEquals.includes(error)) return true;
  // No wildcard matches this error.
  if (error === 'States.DataLimitExceeded') return false;
  if (errorEquals.includes('States.ALL')) return true;
  return errorEquals.includes('States.TaskFailed') && error !== 'States.Timeout';
}

export const runtimeError = (message: string): MachineError => new MachineError('States.Runtime', message);
