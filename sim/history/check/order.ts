import type { EventEnvelope } from '../../../src/core/events/envelope.js';
import type { Call } from '../history.js';
import { type Effects, nameOf } from './effects.js';
import type { Past } from './past.js';
import { type Violation, violation } from './violation.js';

/**
 * Real time: whoever was answered before another asked comes before it in the log. Positions are given in the order of
 * commits, so this must hold in the project as a whole, and therefore for every subject.
 */
export function checkOrder(past: Past, { askedBy, toldTo }: Effects): Violation[] {
  const found: Violation[] = [];
  /** Of all events from here to the end, the one that was told of first. */
  let first_told: { readonly event: EventEnvelope; readonly call: Call } | null = null;
  for (let place = past.events.length; place > 0; place -= 1) {
    const event = past.at(place);
    const asked = askedBy.get(event);
    if (asked !== undefined && first_told !== null && first_told.call.returned_ms < asked.invoked_ms) {
      const [later, earlier] = [nameOf(first_told.event), nameOf(event)];
      const says = `${later} was told of before ${earlier} was asked for, and comes after it`;
      found.push(violation('ORDER', says, [first_told.call, asked], [first_told.event, event]));
    }
    const call = toldTo.get(event);
    if (call !== undefined && (first_told === null || call.returned_ms < first_told.call.returned_ms)) {
      first_told = { event, call };
    }
  }
  return found.reverse();
}
