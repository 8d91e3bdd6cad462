import type { Environment } from './environment.js';

/**
 * Does something again and again: each time so long after the last was done. What one round could not do is left to
 * the next. Returns a way to stop.
 */
export function repeat(
  environment: Environment,
  every_ms: number,
  round: () => Promise<unknown>[],
): () => void {
  let cancel: () => void = () => {};
  let stopped = false;
  const wait = (): void => {
    if (stopped) return;
    cancel = environment.setTimer(every_ms, () => void Promise.allSettled(round()).then(wait));
  };
  wait();
  return () => {
    stopped = true;
    cancel();
  };
}
