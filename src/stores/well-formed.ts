import type { NewEvent } from '../core/events/envelope.js';
import type { Swap, Unit } from './store.js';

/** Throws when a unit cannot mean anything: that is a bug of the caller, and no store may act on it. */
export function assertWellFormed(unit: Unit): void {
  for (const swap of unit.swaps) assertSwap(unit, swap);
  for (const note of unit.notes) {
    assertPlace(unit, note);
    if (note.seq !== undefined)
      malformed(unit, `the note ${note.event_id} has a seq, but notes move no head`);
  }
  if (unit.swaps.length > 1) {
    assertDistinct(unit, 'swapped', unit.swaps, (swap) => swap.subject);
  }
  if (unit.requests.length > 1) {
    assertDistinct(unit, 'asked for', unit.requests, (request) => request.key);
  }
}

function assertSwap(unit: Unit, { subject, expected_seq, head, events }: Swap): void {
  if (!Number.isSafeInteger(expected_seq) || expected_seq < 0) {
    malformed(unit, `${subject} expects the seq ${expected_seq}`);
  }
  if (events.length === 0) malformed(unit, `the swap of ${subject} has no events`);
  if (head.subject !== subject) malformed(unit, `the swap of ${subject} has the head of ${head.subject}`);
  if (head.seq !== expected_seq + events.length) {
    malformed(unit, `the head of ${subject} has seq ${head.seq}, not ${expected_seq + events.length}`);
  }
  for (let index = 0; index < events.length; index += 1) {
    const event = events[index] as NewEvent;
    assertPlace(unit, event);
    if (event.subject !== subject || event.seq !== expected_seq + 1 + index) {
      malformed(unit, `event ${index} of ${subject} is event ${event.seq} of ${event.subject}`);
    }
  }
}

function assertPlace(unit: Unit, event: NewEvent): void {
  if (event.tenant_id !== unit.tenant_id || event.project_id !== unit.project_id) {
    malformed(unit, `the event ${event.event_id} belongs to ${event.tenant_id}/${event.project_id}`);
  }
  if ('position' in event) malformed(unit, `the event ${event.event_id} has a position before its commit`);
}

function assertDistinct<T>(unit: Unit, done: string, parts: readonly T[], nameOf: (part: T) => string): void {
  const names = new Set<string>();
  for (const part of parts) {
    const name = nameOf(part);
    if (names.has(name)) malformed(unit, `${name} is ${done} twice`);
    names.add(name);
  }
}

function malformed(unit: Unit, why: string): never {
  throw new Error(`Malformed unit for ${unit.tenant_id}/${unit.project_id}: ${why}.`);
}
