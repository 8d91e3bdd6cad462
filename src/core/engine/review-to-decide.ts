import type { PendingReview } from '../contract/reviews.js';
import type { RunSummary } from '../contract/runs.js';

/**
 * The review that has to be decided before the edge can be run; undefined if there is none. After the deadline of the
 * review, a run that waits for the decision can continue without it: the run records that there was no answer.
 */
export function reviewToDecide(
  reviews: readonly PendingReview[],
  runs: readonly RunSummary[],
  taskId: string,
): PendingReview | undefined {
  const review = reviews.find(({ task_id }) => task_id === taskId);
  const isAwaited = runs.some(({ task_id, status }) => task_id === taskId && status === 'WAITING');
  return review?.overdue && isAwaited ? undefined : review;
}
