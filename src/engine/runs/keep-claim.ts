import { isCoordinationFailure } from '../coordination.js';
import type { EngineServices } from '../handlers/services.js';
import { acceptedResultOf } from './decided-run.js';
import type { RunAuthor } from './run-events.js';

/** The interval of renewals. Short enough for the shortest lease. */
const RENEWAL_INTERVAL_MS = 10_000;

/** Runs `task` once after about `afterMs`. Returns a function that cancels it. */
export type SetTimer = (afterMs: number, task: () => void) => () => void;

export const processTimer: SetTimer = (afterMs, task) => {
  const timer = setTimeout(task, afterMs);
  return () => clearTimeout(timer);
};

/**
 * Renews the claim of a run in the background. The returned `signal` is aborted when the claim is lost, or when the run is
 * stopped. An author without a claim has nothing to renew.
 */
export function keepClaim(
  { coordination }: Pick<EngineServices, 'coordination'>,
  author: RunAuthor,
  runId: string,
  setTimer: SetTimer,
  runSignal: AbortSignal,
) {
  const lossController = new AbortController();
  const { subject: task_id, session_id, claim_id, generation: expected_generation } = author;
  let isStopped = false;
  let cancelTimer = (): void => {};
  const renew = async (): Promise<void> => {
    try {
      const reply = await coordination.renewLease({ task_id, session_id, claim_id, expected_generation });
      if (!isCoordinationFailure(reply) && !reply.success) {
        // The claim is lost, unless the accepted result of this run has ended it.
        const accepted = acceptedResultOf(runId, await coordination.eventsOf(task_id));
        if (accepted === undefined) lossController.abort();
        else isStopped = true;
      }
    } catch {
      // The next renewal tries again; the lease decides how long that is possible.
    }
    scheduleNext();
  };
  const scheduleNext = (): void => {
    if (!isStopped && !lossController.signal.aborted)
      cancelTimer = setTimer(RENEWAL_INTERVAL_MS, () => void renew());
  };
  if (claim_id !== undefined) scheduleNext();
  return {
    signal: AbortSignal.any([runSignal, lossController.signal]),
    isLost: (): boolean => lossController.signal.aborted,
    stop: (): void => {
      isStopped = true;
      cancelTimer();
    },
  };
}
