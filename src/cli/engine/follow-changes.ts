import type { Genesis } from '../../client/index.js';
import { ChangeSignal } from '../watch.js';

/** Interval at which `wait` resolves in any case: the end of a backoff or a time box makes work available without an event. */
const POLL_MS = 30_000;
/** Event types that only show that another agent is alive. */
const IGNORED_EVENT_TYPES = new Set(['heartbeat', 'LEASE_RENEWED']);

/**
 * Follows the log from now on. `wait` resolves when others have changed something since the last `wait`. An edge that was
 * set aside may be tried again when something happens on it, or on the project as a whole.
 */
export function followChanges(
  genesis: Pick<Genesis, 'follow'>,
  agentId: string,
  setAside: Set<string>,
  signal: AbortSignal,
): { wait(): Promise<void> } {
  const changes = new ChangeSignal();
  const timer = setInterval(() => changes.notify(), POLL_MS);
  signal.addEventListener('abort', () => {
    clearInterval(timer);
    changes.notify();
  });
  const follow = async (): Promise<void> => {
    for await (const { event } of genesis.follow({ after: 'now' }, { signal })) {
      if (event.agent_id === agentId || IGNORED_EVENT_TYPES.has(event.event_type)) continue;
      if (event.subject === undefined) setAside.clear();
      else setAside.delete(event.subject);
      changes.notify();
    }
  };
  const following = follow();
  // The error is thrown to the caller that waits; without such a caller it must not end the process.
  following.catch(() => {});
  return {
    wait: () =>
      Promise.race([changes.wait(), following.then(() => (signal.aborted ? undefined : changes.wait()))]),
  };
}
