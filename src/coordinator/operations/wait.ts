import type { ClaimResult } from '../../core/contract/claim-replies.js';
import { type Caller, isStillAuthorized } from '../authentication/caller.js';
import type { Project } from '../queue/project.js';
import type { Environment } from '../runtime/environment.js';
import { isProblem, type Problem, unauthorizedProblem } from '../wire/problem.js';
import { WaitQueue, type WaitTicket } from './wait-queue.js';

const waitQueues = new WeakMap<Project, WaitQueue>();

function waitQueueOf(project: Project, environment: Environment): WaitQueue {
  const waitQueue = waitQueues.get(project) ?? new WaitQueue(project, environment);
  waitQueues.set(project, waitQueue);
  return waitQueue;
}

interface WaitRequest extends Pick<WaitTicket, 'session_id' | 'track' | 'wantsEdges' | 'signal'> {
  readonly seconds: number;
  readonly caller: Caller;
}

/**
 * Requests work until some is granted or the time is up, and waits in the queue between two requests. After a disconnect
 * it requests nothing more: work that is granted to a disconnected client is unavailable for a whole lease.
 */
export async function waitForWork(
  project: Project,
  environment: Environment,
  { session_id, seconds, track, wantsEdges, signal, caller }: WaitRequest,
  tryNext: () => Promise<ClaimResult | Problem>,
): Promise<ClaimResult | Problem> {
  const waitQueue = waitQueueOf(project, environment);
  const deadlineMs = environment.clock.monotonicMs() + seconds * 1000;
  for (let wasWoken = false; ; ) {
    // Read before the request, so that work which becomes ready in the same batch is not missed.
    const start = waitQueue.start();
    const reply = await tryNext().finally(() => {
      if (wasWoken) waitQueue.acknowledge();
    });
    const remainingMs = deadlineMs - environment.clock.monotonicMs();
    if (isProblem(reply) || reply.reason !== 'NOTHING_READY') return reply;
    if (remainingMs <= 0 || reply.done) return reply;
    wasWoken = await waitQueue.wait({ session_id, track, wantsEdges, start, remainingMs, signal });
    if (!signal?.aborted) continue;
    if (wasWoken) waitQueue.acknowledge();
    return isStillAuthorized(caller) ? reply : unauthorizedProblem();
  }
}
