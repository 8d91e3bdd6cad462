import { asKnownEvent } from '../../events/known-event.js';
import type { EventContext } from './event-context.js';
import { markEscalationOverdue } from './evolve-signal.js';

/** Handlers for the events of a review that waits for a person. */
export const reviewHandlers = {
  escalation_timeout: onEscalationTimeout,
  review_notified: onReviewNotified,
  review_notice_failed: onReviewNoticeFailed,
};

function onEscalationTimeout(context: EventContext): void {
  if (context.existingEdge()?.status === 'pending_review') markEscalationOverdue(context);
}

/** Removes the failed notice, because a later notice was delivered. */
function onReviewNotified({ state, event }: EventContext): void {
  if (state.failed_notices.size > 0) state.failed_notices.delete(event.subject ?? '');
}

function onReviewNoticeFailed({ state, event }: EventContext): void {
  const knownEvent = asKnownEvent(event);
  if (knownEvent?.event_type !== 'review_notice_failed' || event.subject === undefined) return;
  const { iteration, candidate_sha256, host, error } = knownEvent.payload;
  const generation = event.generation ?? 0;
  state.failed_notices.set(event.subject, { generation, iteration, candidate_sha256, host, error });
}
