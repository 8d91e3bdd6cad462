import type { Environment } from '../runtime/environment.js';

/** Runs rounds with a fixed pause after each, even if a round failed. Returns a function that ends the repetition. */
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
