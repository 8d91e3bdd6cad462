import { availableParallelism } from 'node:os';
import type { EffectiveCheck } from '../../core/contract/checks.js';
import type { CheckExecution, CheckLimits, ExecuteCheck, WorkCopy } from './check-execution.js';

interface ChecksRun {
  readonly checks: readonly EffectiveCheck[];
  readonly copy: WorkCopy;
  readonly limits: CheckLimits;
  readonly signal: AbortSignal;
}

/**
 * Runs the deterministic checks of a checklist, as many at a time as there are processors. They share the copy, which
 * none of them changes. Results are in the order of the checklist.
 */
export async function runChecks(
  runCheck: ExecuteCheck,
  { checks, ...shared }: ChecksRun,
  parallel = availableParallelism(),
): Promise<CheckExecution[]> {
  const queue = [...checks.filter(({ type }) => type === 'deterministic').entries()];
  const results: CheckExecution[] = new Array(queue.length);
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [index, check] = next;
      results[index] = await runCheck({ check, ...shared });
    }
  };
  // Waits for all checks, also after an error, because the caller then removes the copy.
  const ends = await Promise.allSettled(Array.from({ length: Math.max(1, parallel) }, work));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return results;
}
