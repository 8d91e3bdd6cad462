import type { EventEnvelope } from '../../../src/core/events/envelope.js';
import type { RecordedCall } from '../history.js';
import { type CallEffects, describeEvent } from './effects.js';
import type { LogTimeline } from './log-timeline.js';
import { type HistoryViolation, violation } from './violation.js';

/**
 * Real-time order: a call that returned before another was invoked precedes it in the log. Positions follow commit
 * order, so this must hold for the project as a whole, and therefore for every subject.
 */
export function checkOrder(
  timeline: LogTimeline,
  { causedBy, acknowledgedBy }: CallEffects,
): HistoryViolation[] {
  const violations: HistoryViolation[] = [];
  /** Of all events from here to the end, the one that was acknowledged first. */
  let firstAcknowledged: { readonly event: EventEnvelope; readonly call: RecordedCall } | null = null;
  for (let logIndex = timeline.events.length; logIndex > 0; logIndex -= 1) {
    const event = timeline.eventAt(logIndex);
    const cause = causedBy.get(event);
    if (
      cause !== undefined &&
      firstAcknowledged !== null &&
      firstAcknowledged.call.returned_ms < cause.invoked_ms
    ) {
      const [later, earlier] = [describeEvent(firstAcknowledged.event), describeEvent(event)];
      const message = `${later} was confirmed before ${earlier} was requested, but comes after it in the log`;
      violations.push(
        violation('ORDER', message, [firstAcknowledged.call, cause], [firstAcknowledged.event, event]),
      );
    }
    const call = acknowledgedBy.get(event);
    if (
      call !== undefined &&
      (firstAcknowledged === null || call.returned_ms < firstAcknowledged.call.returned_ms)
    ) {
      firstAcknowledged = { event, call };
    }
  }
  return violations.reverse();
}
