import type { Head } from '../../core/claims/head.js';
import { openGateOf } from '../../core/claims/open-gate.js';
import { type ReviewSettings, reviewDeadlineMs } from '../../core/engine/review-notices.js';

/** When the pending review of a head was opened, and when it is overdue (null: never). Null if no review is pending. */
export function reviewTimesOf(
  head: Head,
  settings?: ReviewSettings,
): { since_ms: number; deadline_ms: number | null } | null {
  const gate = openGateOf(head);
  if (gate === null || head.claim === null) return null;
  const { suspended_until_ms } = head.claim;
  const since_ms = gate.opened_at_ms ?? head.last_at_ms;
  const deadline_ms =
    suspended_until_ms === null ? null : reviewDeadlineMs(since_ms, suspended_until_ms, settings);
  return { since_ms, deadline_ms };
}
