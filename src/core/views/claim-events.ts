import type { EventEnvelope } from '../events/envelope.js';
import { asClaimEvent, type ClaimEvent } from '../events/known-event.js';

/** The claim events of a feed, each once. A feed may deliver an event again; its position is then not above the last one. */
export function* claimEvents(events: Iterable<EventEnvelope>): Generator<ClaimEvent> {
  let position = 0;
  for (const event of events) {
    if (event.position <= position) continue;
    position = event.position;
    const claimEvent = asClaimEvent(event);
    if (claimEvent !== null) yield claimEvent;
  }
}
