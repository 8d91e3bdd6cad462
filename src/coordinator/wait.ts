import { isDone } from '../core/views/index.js';
import { type Caller, isStillAuthorized } from './caller.js';
import type { Environment } from './environment.js';
import { isProblem, type Problem, unauthorizedProblem } from './problem.js';
import type { Project } from './project.js';
import { WaitQueue } from './wait-queue.js';
import type { ClaimResult } from './wire.js';

const waitQueues = new WeakMap<Project, WaitQueue>();

function waitQueueOf(project: Project, environment: Environment): WaitQueue {
  const waitQueue = waitQueues.get(project) ?? new WaitQueue(project, environment);
  waitQueues.set(project, waitQueue);
  return waitQueue;
}

export interface WaitRequest {
  readonly session_id: string;
  readonly seconds: number;
  readonly track: string | undefined;
  /** Aborted when the call should wait no longer: its client is gone, the server stops, or its credential ended. */
  readonly signal: AbortSignal | undefined;
  readonly caller: Caller;
}

/**
 * Asks for work until there is some or the time is up; in between it waits in line. Whoever is gone is not asked for
 * again: work granted to nobody would lie there for a whole lease.
 */
export async function waitForWork(
  project: Project,
  environment: Environment,
  { session_id, seconds, track, signal, caller }: WaitRequest,
  tryNext: () => Promise<ClaimResult | Problem>,
): Promise<ClaimResult | Problem> {
  const waitQueue = waitQueueOf(project, environment);
  const deadlineMs = environment.clock.monotonicMs() + seconds * 1000;
  for (let wasWoken = false; ; ) {
    // From before it asks: what becomes ready in the very batch that found nothing is not missed.
    const seen = waitQueue.changes;
    const reply = await tryNext().finally(() => {
      if (wasWoken) waitQueue.acknowledge();
    });
    const remainingMs = deadlineMs - environment.clock.monotonicMs();
    if (isProblem(reply) || reply.reason !== 'NOTHING_READY') return reply;
    if (remainingMs <= 0 || isDone(project.state)) return reply;
    wasWoken = await waitQueue.wait({ session_id, track, seen, remainingMs, signal });
    if (!signal?.aborted) continue;
    if (wasWoken) waitQueue.acknowledge();
    return isStillAuthorized(caller) ? reply : unauthorizedProblem();
  }
}
