import { type Effects, nameOf } from './effects.js';
import type { Past } from './past.js';
import { type Violation, violation } from './violation.js';

/**
 * Real time: whoever was answered before another asked comes before it in the log. Positions are given in the order of
 * commits, so this must hold in the project as a whole, and therefore for every subject.
 */
export function checkOrder(past: Past, effects: Effects): Violation[] {
  const found: Violation[] = [];
  /** The event from here to the end that somebody was told of first. */
  let told = null as { event: (typeof past.events)[number]; returned_ms: number } | null;
  for (let place = past.events.length; place > 0; place -= 1) {
    const event = past.at(place);
    const asked = effects.askedBy.get(event);
    if (asked !== undefined && told !== null && told.returned_ms < asked.invoked_ms) {
      const [later, earlier] = [nameOf(told.event), nameOf(event)];
      const says = `${later} was told of before ${earlier} was asked for, and comes after it`;
      const call = effects.toldTo.get(told.event);
      found.push(violation('ORDER', says, call === undefined ? [asked] : [call, asked], [told.event, event]));
    }
    const returned_ms = effects.toldTo.get(event)?.returned_ms ?? Number.POSITIVE_INFINITY;
    if (told === null || returned_ms < told.returned_ms) told = { event, returned_ms };
  }
  return found.reverse();
}
