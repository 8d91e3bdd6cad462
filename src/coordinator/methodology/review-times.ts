import type { Head } from '../../core/claims/head.js';
import { type ReviewSettings, reviewDeadlineMs } from '../../core/engine/review-notices.js';

/** When the review of a head was opened and when it is overdue; null if none waits. */
export function reviewTimesOf(
  { generation, claim, gate, last_at_ms }: Head,
  settings?: ReviewSettings,
): { since_ms: number; deadline_ms: number | null } | null {
  if (claim?.state !== 'SUSPENDED' || gate === null) return null;
  if (gate.decision !== null || gate.generation !== generation) return null;
  const { suspended_until_ms } = claim;
  const since_ms = gate.opened_at_ms ?? last_at_ms;
  const deadline_ms =
    suspended_until_ms === null ? null : reviewDeadlineMs(since_ms, suspended_until_ms, settings);
  return { since_ms, deadline_ms };
}
