import type { Reply } from '../../api/call.js';

/** How much waits for a person. */
export function inboxCount(
  status: Reply<'status'> | undefined,
  reviews: Reply<'pending_reviews'> | undefined,
): number {
  const pending = new Set((reviews?.reviews ?? []).map(({ task_id }) => task_id));
  const waiting = (status?.waiting ?? []).filter(({ task_id }) => !pending.has(task_id));
  return pending.size + (reviews?.proposals.length ?? 0) + waiting.length;
}
