import { isCoordinationFailure } from '../coordination.js';
import type { EngineServices } from '../handlers/services.js';
import { acceptedResultOf } from './decided-run.js';
import type { RunAuthor } from './run-events.js';

/** Often enough for the shortest lease. */
const RENEW_MS = 10_000;

/** Runs `task` once after about `afterMs`. Returns a function that cancels it. */
export type SetTimer = (afterMs: number, task: () => void) => () => void;

export const processTimer: SetTimer = (afterMs, task) => {
  const timer = setTimeout(task, afterMs);
  return () => clearTimeout(timer);
};

/**
 * Renews the claim of a run in the background. `signal` is aborted when it is lost, or when the run is stopped. An author
 * without a claim has none to lose.
 */
export function keepClaim(
  { coordination }: Pick<EngineServices, 'coordination'>,
  author: RunAuthor,
  runId: string,
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
      if (!isCoordinationFailure(reply) && !reply.success) {
        // The result of this run has ended the claim, or it has ended otherwise, or belongs to another executor.
        const accepted = acceptedResultOf(runId, await coordination.eventsOf(task_id));
        if (accepted === undefined) lost.abort();
        else isStopped = true;
      }
    } catch {
      // The next renewal tries again; the lease decides how long that is possible.
    }
    scheduleNext();
  };
  const scheduleNext = (): void => {
    if (!isStopped && !lost.signal.aborted) cancelTimer = setTimer(RENEW_MS, () => void renew());
  };
  if (claim_id !== undefined) scheduleNext();
  return {
    signal: AbortSignal.any([stop, lost.signal]),
    isLost: (): boolean => lost.signal.aborted,
    stop: (): void => {
      isStopped = true;
      cancelTimer();
    },
  };
}
