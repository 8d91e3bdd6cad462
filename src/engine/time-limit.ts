import { EngineError, engineError } from './engine-error.js';

/** Aborts when `signal` does, or after the time limit. */
export const withTimeLimit = (signal: AbortSignal, seconds: number): AbortSignal =>
  AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000)]);

/** The error of a step that its signal has stopped: by an error of the engine, a time limit, or a cancellation. */
export function stoppedError(signal: AbortSignal, what: string): EngineError {
  const { reason } = signal;
  if (reason instanceof EngineError) return reason;
  return reason instanceof Error && reason.name === 'TimeoutError'
    ? engineError(
        'timeout',
        `The time limit for ${what} was reached. Raise timeout_seconds, or make the task smaller.`,
      )
    : engineError('failed', `The run no longer waits for ${what}.`);
}
