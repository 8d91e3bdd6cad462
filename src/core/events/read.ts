import { z } from 'zod';
import { type EventFault, faultsOf } from './catalogue.js';
import { type EventEnvelope, isoTime } from './envelope.js';
import { type ForeignLog, readFlat } from './read-flat.js';

export type EventReading =
  | { readonly ok: true; readonly event: EventEnvelope }
  | { readonly ok: false; readonly faults: readonly EventFault[] };

const text = z.string().min(1);
const positive = z.int().positive();

/** What every reader of the log relies on; whatever else an event carries is kept as it is. */
const readableEnvelope = z.looseObject({
  event_id: text,
  event_type: text,
  timestamp: text.transform(utc).pipe(z.string({ error: 'expected an ISO-8601 time' })),
  tenant_id: text,
  project_id: text,
  position: positive,
  subject: text.exactOptional(),
  seq: positive.exactOptional(),
  task_id: text.exactOptional(),
  feature_id: text.exactOptional(),
  edge: text.exactOptional(),
  agent_id: text,
  agent_role: text.exactOptional(),
  session_id: z.string().exactOptional(),
  generation: z.int().nonnegative().exactOptional(),
  request_id: text.exactOptional(),
  payload: z.record(z.string(), z.unknown()),
});

/** Open on read: unknown types and foreign fields survive, and so do lines of the flat dialect. */
export function readEvent(line: unknown, log: ForeignLog): EventReading {
  if (typeof line !== 'object' || line === null || Array.isArray(line)) {
    return { ok: false, faults: [{ path: '', message: 'expected an object: one event a line' }] };
  }
  const fields = line as Readonly<Record<string, unknown>>;
  const isOurs = 'event_id' in fields && 'payload' in fields && 'position' in fields;
  const read = readableEnvelope.safeParse(isOurs ? fields : readFlat(fields, log));
  return read.success ? { ok: true, event: read.data } : { ok: false, faults: faultsOf(read.error) };
}

/** Logs mix `Z`, `+00:00` and `+11:00`; a time without a zone is taken as UTC, the same on every machine. */
function utc(written: string): string | null {
  const hasClock = /T\d/.test(written);
  const hasZone = /(Z|[+-]\d\d:?\d\d)$/i.test(written);
  const at_ms = Date.parse(hasClock && !hasZone ? `${written}Z` : written);
  return Number.isNaN(at_ms) ? null : isoTime(at_ms);
}
