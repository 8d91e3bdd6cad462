import type { Environment } from './environment.js';

/**
 * Does something again and again: each time so long after the last was done. What one round could not do is left to
 * the next. Returns a way to stop.
 */
export function repeatEvery(
  environment: Environment,
  everyMs: number,
  runRound: () => Promise<unknown>[],
): () => void {
  let cancel: () => void = () => {};
  let isStopped = false;
  const scheduleNext = (): void => {
    if (isStopped) return;
    cancel = environment.setTimer(everyMs, () => void Promise.allSettled(runRound()).then(scheduleNext));
  };
  scheduleNext();
  return () => {
    isStopped = true;
    cancel();
  };
}
