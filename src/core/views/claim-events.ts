import type { EventEnvelope } from '../events/envelope.js';
import { asClaimEvent, type ClaimEvent } from '../events/known-event.js';

/** The claim events, each once: a feed may deliver an event again, and positions only increase. */
export function* claimEvents(events: Iterable<EventEnvelope>): Generator<ClaimEvent> {
  let position = 0;
  for (const event of events) {
    if (event.position <= position) continue;
    position = event.position;
    const claimEvent = asClaimEvent(event);
    if (claimEvent !== null) yield claimEvent;
  }
}
