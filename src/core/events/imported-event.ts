import { type EventFault, envelopeSchema, faultsOf } from './catalogue.js';
import type { NewEvent } from './envelope.js';
import { isImported } from './known-event.js';
import { plainDataFault } from './plain-data.js';
import { isCommandType } from './read-flat.js';
import { recordEventSchemas } from './record-events.js';

/** Enough for a line of 64 KiB plus the import details. */
const IMPORTED_BYTES_MAX = 96 * 1024;

/**
 * What is wrong with an imported event; null if it is valid. It has the usual envelope, but may have any payload within the
 * size limit, and any type except those of commands and of records. It has no subject, changes no head, and names its source.
 */
export function importedEventFault(event: unknown): EventFault | null {
  const envelope = envelopeSchema.safeParse(event);
  if (!envelope.success) return faultsOf(envelope.error)[0] ?? null;
  const { event_type, subject, seq, payload } = envelope.data as NewEvent;
  if (isCommandType(event_type)) {
    return { path: 'event_type', message: `${event_type} is a command, not an event` };
  }
  if (Object.hasOwn(recordEventSchemas, event_type)) {
    return { path: 'event_type', message: `${event_type} is written by the coordinator only` };
  }
  if (subject !== undefined || seq !== undefined) {
    return { path: 'subject', message: 'an imported event must not have a subject or a seq' };
  }
  if (!isImported(payload)) return { path: 'payload.imported', message: 'expected the source of the event' };
  const fault = plainDataFault(payload);
  if (fault !== null) return { path: 'payload', message: fault };
  return JSON.stringify(payload).length <= IMPORTED_BYTES_MAX
    ? null
    : { path: 'payload', message: `expected at most ${IMPORTED_BYTES_MAX} bytes` };
}
