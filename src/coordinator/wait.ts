import type { Environment } from './environment.js';
import { isProblem, type Problem } from './problem.js';
import type { Project } from './project.js';
import { nextDeadlineMs } from './ready.js';
import type { ClaimResult } from './wire.js';

/**
 * Asks for work until there is some or the time is up; in between it sleeps until something may have changed. Whoever
 * is gone is not asked for again: work granted to nobody would lie there for a whole lease.
 */
export async function waitForWork(
  project: Project,
  environment: Environment,
  wait_seconds: number,
  gone: AbortSignal | undefined,
  ask: () => Promise<ClaimResult | Problem>,
): Promise<ClaimResult | Problem> {
  const deadline_ms = environment.clock.monotonicMs() + wait_seconds * 1000;
  for (;;) {
    let moved = false;
    // Listening from before it asks: what becomes ready in the very batch that found nothing is not missed.
    const stop = project.moved.once(() => {
      moved = true;
    });
    const reply = await ask();
    stop();
    const left_ms = deadline_ms - environment.clock.monotonicMs();
    if (isProblem(reply) || reply.reason !== 'NOTHING_READY' || left_ms <= 0) return reply;
    if (!moved) await somethingMoves(project, environment, left_ms, gone);
    if (gone?.aborted) return reply;
  }
}

/** Resolves when the project moves, when the next lease or pause runs out, or when the time is up or nobody waits. */
function somethingMoves(
  project: Project,
  environment: Environment,
  left_ms: number,
  gone: AbortSignal | undefined,
): Promise<void> {
  if (gone?.aborted) return Promise.resolve();
  const desk = project.desk();
  const wait_ms = Math.min(left_ms, Math.max(nextDeadlineMs(desk) - desk.now_ms, 1));
  return new Promise((resolve) => {
    const cancel = environment.setTimer(wait_ms, done);
    const stop = project.moved.once(done);
    gone?.addEventListener('abort', done, { once: true });
    function done() {
      cancel();
      stop();
      gone?.removeEventListener('abort', done);
      resolve();
    }
  });
}
