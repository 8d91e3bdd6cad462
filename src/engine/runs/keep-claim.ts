import { isUnanswered } from '../coordination.js';
import type { EngineServices } from '../handlers/services.js';
import type { RunAuthor } from './run-events.js';

/** Often enough for the shortest lease. */
const RENEW_MS = 10_000;

/** Runs `task` once after about `afterMs`. Returns a function that cancels it. */
export type SetTimer = (afterMs: number, task: () => void) => () => void;

/** Renews the claim of a run in the background. `signal` is aborted when it is lost, or when the run is stopped. */
export function keepClaim(
  { coordination }: Pick<EngineServices, 'coordination'>,
  author: RunAuthor,
  setTimer: SetTimer,
  stop: AbortSignal,
) {
  const lost = new AbortController();
  const { subject: task_id, session_id, claim_id, generation: expected_generation } = author;
  let isStopped = false;
  let cancelTimer = (): void => {};
  const renew = async (): Promise<void> => {
    try {
      const reply = await coordination.renewLease({ task_id, session_id, claim_id, expected_generation });
      // A refusal means that the claim has ended, or belongs to another executor.
      if (!isUnanswered(reply) && !reply.success) lost.abort();
    } catch {
      // The next renewal tries again; the lease decides how long that is possible.
    }
    scheduleNext();
  };
  const scheduleNext = (): void => {
    if (!isStopped && !lost.signal.aborted) cancelTimer = setTimer(RENEW_MS, () => void renew());
  };
  scheduleNext();
  return {
    signal: AbortSignal.any([stop, lost.signal]),
    isLost: (): boolean => lost.signal.aborted,
    stop: (): void => {
      isStopped = true;
      cancelTimer();
    },
  };
}
