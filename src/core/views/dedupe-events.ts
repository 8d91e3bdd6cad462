import type { EventEnvelope } from '../events/envelope.js';

/** Drops repeated events: a feed may deliver an event again, and positions only increase. */
export function* dedupeEvents(events: Iterable<EventEnvelope>): Generator<EventEnvelope> {
  let position = 0;
  for (const event of events) {
    if (event.position <= position) continue;
    position = event.position;
    yield event;
  }
}
