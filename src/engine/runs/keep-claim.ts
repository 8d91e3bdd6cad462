import { isUnanswered } from '../coordination.js';
import type { EngineServices } from '../handlers/services.js';
import { acceptedResultOf } from './decided-run.js';
import type { RunAuthor } from './run-events.js';

/** Often enough for the shortest lease. */
const RENEW_MS = 10_000;

/**
 * Renews the claim of a run in the background. `signal` is aborted when it is lost, or when the run is stopped. An author
 * without a claim has none to lose.
 */
export function keepClaim(
  { coordination }: Pick<EngineServices, 'coordination'>,
  author: RunAuthor,
  runId: string,
  stop: AbortSignal,
) {
  const lost = new AbortController();
  const { subject: task_id, session_id, claim_id, generation: expected_generation } = author;
  let isRenewing = false;
  const renew = async (): Promise<void> => {
    if (isRenewing) return;
    isRenewing = true;
    try {
      const reply = await coordination.renewLease({ task_id, session_id, claim_id, expected_generation });
      if (isUnanswered(reply) || reply.success) return;
      // The result of this run has ended the claim, or it has ended otherwise, or belongs to another executor.
      const accepted = acceptedResultOf(runId, await coordination.eventsOf(task_id));
      if (accepted === undefined) lost.abort();
      else clearInterval(timer);
    } catch {
      // The next renewal tries again; the lease decides how long that is possible.
    } finally {
      isRenewing = false;
    }
  };
  const timer = claim_id === undefined ? undefined : setInterval(() => void renew(), RENEW_MS);
  return {
    signal: AbortSignal.any([stop, lost.signal]),
    isLost: (): boolean => lost.signal.aborted,
    stop: (): void => clearInterval(timer),
  };
}
