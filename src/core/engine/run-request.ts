import type { IterateRefusal } from '../contract/codes.js';
import type { RunSummary } from '../contract/runs.js';

/** Why a run of the edge cannot be requested as a retry of this run; null if it can. */
export function retryRefusal(retried: RunSummary | undefined, taskId: string): IterateRefusal | null {
  if (retried === undefined || retried.task_id !== taskId) return 'UNKNOWN_RUN';
  if (retried.ended_at === null) return 'RUN_NOT_ENDED';
  return retried.status === 'CONVERGED' ? 'DENIED_COMPLETED' : null;
}
