import { z } from 'zod';
import { type ClaimEventKind, claimEventKindOf } from '../../claims/claim-event-kinds.js';
import { count } from '../../events/fields.js';
import { isObject } from '../../events/plain-data.js';
import { readStrictJson } from '../../strict-json.js';
import { sessionSubject } from '../../subject.js';
import type { InclusionProof } from '../proof.js';

const text = z.string().optional();
const adoptedFrom = z.union([
  z.looseObject({ imported: z.literal(true), event_id: z.string(), position: count, source: text }),
  z.looseObject({
    imported: z.undefined().optional(),
    result_id: z.string(),
    generation: count,
    agent_id: z.string(),
    session_id: z.string(),
  }),
]);

/** What the roles, the summary and the signatures use of an envelope. The log is not ours, so types are checked. */
const envelope = z.looseObject({
  event_type: z.string(),
  timestamp: z.string(),
  position: count,
  subject: text,
  seq: count.optional(),
  agent_id: z.string(),
  agent_role: text,
  session_id: text,
  generation: count.optional(),
  request_id: text,
});
/** The same of a payload, whatever the type of the event. */
const payload = z.looseObject({
  signature: text,
  inputs: text,
  expires_at: text.nullable(),
  cause: text,
  disposition: text,
  expired_at: text,
  by: text,
  reason: text,
  late: z.boolean().optional(),
  result_id: text,
  result_sha256: text,
  result_size_bytes: count.optional(),
  adopted_from: adoptedFrom.optional(),
  decision: text,
  reviewer: text,
  pushed_by: text,
  candidate_sha256: text,
  rejection_reason: text,
  submitted_generation: count.optional(),
  current_generation: count.optional(),
  parked: z.boolean().optional(),
  record: z.looseObject({ public_key: text }).optional(),
});

/** An event as evidence of a result. Without a payload if retention has redacted it. */
export type ResultEvent = z.infer<typeof envelope> & { readonly payload: z.infer<typeof payload> | null };

/** Null if the types of the fields are wrong. */
export function toResultEvent(fields: unknown, payloadValue: unknown): ResultEvent | null {
  const event = envelope.safeParse(fields);
  if (!event.success) return null;
  if (payloadValue === null) return { ...event.data, payload: null };
  const content = payload.safeParse(payloadValue);
  return content.success ? { ...event.data, payload: content.data } : null;
}

/** The event that an inclusion proof is about; null if its leaf or its payload is none. */
export function provenEvent({ leaf, payload: payloadText }: InclusionProof): ResultEvent | null {
  const fields = readStrictJson(leaf);
  if ('fault' in fields) return null;
  if (payloadText === undefined) return toResultEvent(fields.value, null);
  const content = readStrictJson(payloadText);
  return 'fault' in content || !isObject(content.value) ? null : toResultEvent(fields.value, content.value);
}

/**
 * The kind of a claim event; null for every other one. An event that moved the head has a seq; without one, it was
 * reported or imported, and is evidence of nothing. A warning is told from an escalation by it, also if it is redacted.
 */
export function evidenceKind({ event_type, seq }: ResultEvent): ClaimEventKind | null {
  const kind = claimEventKindOf(event_type);
  if (kind === undefined) return null;
  if (kind === 'escalated') return seq === undefined ? 'warned' : 'escalated';
  if (kind === 'result_denied') return seq === undefined ? kind : null;
  return seq === undefined ? null : kind;
}

export const isSessionOpening = ({ event_type, subject, session_id }: ResultEvent): boolean =>
  event_type === 'SESSION_OPENED' && session_id !== undefined && subject === sessionSubject(session_id);
