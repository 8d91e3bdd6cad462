import { type ClaimEventKind, claimEventKindOf } from '../claims/claim-event-kinds.js';
import type { EventPayloads, EventType } from './catalogue.js';
import type { ClaimEventPayloads } from './claim-payload-schemas.js';
import type { EventDraft, EventEnvelope } from './envelope.js';
import { CATALOGUE_TYPES } from './known-event-types.js';
import { isObject } from './plain-data.js';

/** An event of the catalogue: its type determines its payload. */
type KnownEvent<E extends EventDraft = EventEnvelope, T extends EventType = EventType> = {
  [Type in T]: Omit<E, 'event_type' | 'payload'> & { event_type: Type; payload: EventPayloads[Type] };
}[T];

/**
 * The event with the type of its payload; null if a later version or another tool wrote it. Compares only the name of the
 * event type. This is safe because the payload was checked when the event was written: by the compiler if the coordinator
 * wrote it, by its schema if it came from a client or an archive. Two kinds of event are unchecked: imported events, for
 * which the result is null, and refusals and notes from an archive, which change no head. The text of a note may be
 * missing, because retention removes it.
 */
export function asKnownEvent<E extends EventDraft>(event: E): KnownEvent<E> | null {
  if (!CATALOGUE_TYPES.has(event.event_type)) return null;
  if (event.subject === undefined && isImported(event.payload)) return null;
  return event as unknown as KnownEvent<E>;
}

/** A claim event: its kind determines its payload. */
export type ClaimEvent<K extends ClaimEventKind = ClaimEventKind, E extends EventDraft = EventEnvelope> = {
  [Kind in K]: { readonly kind: Kind; readonly event: E; readonly payload: ClaimEventPayloads[Kind] };
}[K];

/** The kind and the payload of a claim event, under the same conditions as `asKnownEvent`; null for every other event. */
export function asClaimEvent<E extends EventDraft>(event: E): ClaimEvent<ClaimEventKind, E> | null {
  const kind = claimEventKindOf(event.event_type);
  if (kind === undefined || asKnownEvent(event) === null) return null;
  const isWarning = kind === 'escalated' && event.payload.action === 'warn';
  return { kind: isWarning ? 'warned' : kind, event, payload: event.payload } as ClaimEvent<
    ClaimEventKind,
    E
  >;
}

/** Whether an event was imported from the log of another tool. */
export const isImported = (payload: EventEnvelope['payload']): boolean => isObject(payload.imported);
