import type { EventEnvelope } from '../events/envelope.js';

/** A feed may deliver an event again; what is not beyond the last position has been told. */
export function* dedupeEvents(events: Iterable<EventEnvelope>): Generator<EventEnvelope> {
  let position = 0;
  for (const event of events) {
    if (event.position <= position) continue;
    position = event.position;
    yield event;
  }
}
