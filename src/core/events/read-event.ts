import { z } from 'zod';
import { type EventFault, faultsOf } from './catalogue.js';
import type { EventEnvelope } from './envelope.js';
import { parseForeignLine } from './foreign-log.js';
import { normalizeToUtc } from './normalize-time.js';
import { isObject } from './plain-data.js';
import type { ForeignLogContext } from './read-flat.js';

export type EventParseResult =
  | { readonly ok: true; readonly event: EventEnvelope }
  | { readonly ok: false; readonly faults: readonly EventFault[] };

const text = z.string().min(1);
const positive = z.int().positive();

/** Fields that every reader of the log relies on; all other fields are kept unchanged. */
const lenientEnvelopeSchema = z.looseObject({
  event_id: text,
  event_type: text,
  timestamp: text.transform(normalizeToUtc).pipe(z.string({ error: 'expected an ISO-8601 time' })),
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

/** Identity of a line that does not carry one. */
export interface FallbackIdentity {
  readonly position: number;
  readonly event_id: string;
}

/** Reads an event leniently: keeps unknown types and fields, and accepts the other dialects of this family of tools. */
export function readEvent(
  line: unknown,
  log: ForeignLogContext,
  fallback: FallbackIdentity,
): EventParseResult {
  if (!isObject(line)) {
    return { ok: false, faults: [{ path: '', message: 'expected an object: one event a line' }] };
  }
  const isNativeEvent = 'event_id' in line && 'payload' in line && 'position' in line;
  if (!isNativeEvent) {
    const read = parseForeignLine(line, log, fallback.position);
    if (read.ok) return { ok: true, event: { ...fallback, ...read.event } };
    return { ok: false, faults: [{ path: read.path, message: read.message }] };
  }
  const read = lenientEnvelopeSchema.safeParse(line);
  return read.success ? { ok: true, event: read.data } : { ok: false, faults: faultsOf(read.error) };
}
