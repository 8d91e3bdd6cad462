import { isDone } from '../core/views/index.js';
import { type Caller, isStillAuthorized } from './caller.js';
import type { Environment } from './environment.js';
import { isProblem, noLongerAuthorized, type Problem } from './problem.js';
import type { Project } from './project.js';
import type { ClaimResult } from './wire.js';
import { WorkLine } from './work-line.js';

const lines = new WeakMap<Project, WorkLine>();

function lineOf(project: Project, environment: Environment): WorkLine {
  const line = lines.get(project) ?? new WorkLine(project, environment);
  lines.set(project, line);
  return line;
}

export interface Wait {
  readonly session_id: string;
  readonly seconds: number;
  readonly track: string | undefined;
  /** Aborted when the call should wait no longer: its client is gone, the server stops, or its credential ended. */
  readonly gone: AbortSignal | undefined;
  readonly caller: Caller;
}

/**
 * Asks for work until there is some or the time is up; in between it waits in line. Whoever is gone is not asked for
 * again: work granted to nobody would lie there for a whole lease.
 */
export async function waitForWork(
  project: Project,
  environment: Environment,
  { session_id, seconds, track, gone, caller }: Wait,
  ask: () => Promise<ClaimResult | Problem>,
): Promise<ClaimResult | Problem> {
  const line = lineOf(project, environment);
  const deadline_ms = environment.clock.monotonicMs() + seconds * 1000;
  for (let called = false; ; ) {
    // From before it asks: what becomes ready in the very batch that found nothing is not missed.
    const seen = line.changes;
    const reply = await ask().finally(() => {
      if (called) line.answered();
    });
    const left_ms = deadline_ms - environment.clock.monotonicMs();
    if (isProblem(reply) || reply.reason !== 'NOTHING_READY') return reply;
    if (left_ms <= 0 || isDone(project.state)) return reply;
    called = await line.wait({ session_id, track, seen, left_ms, gone });
    if (!gone?.aborted) continue;
    if (called) line.answered();
    return isStillAuthorized(caller) ? reply : noLongerAuthorized();
  }
}
