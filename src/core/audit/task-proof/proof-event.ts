import { z } from 'zod';
import { type ClaimEventKind, claimEventKindOf } from '../../claims/claim-event-kinds.js';
import { nonNegativeInteger } from '../../events/fields.js';
import { isObject } from '../../events/plain-data.js';
import { readStrictJson } from '../../strict-json.js';
import { sessionSubject } from '../../subject.js';
import type { InclusionProof } from '../proof.js';

const optionalText = z.string().optional();
const adoptedFrom = z.union([
  z.looseObject({
    imported: z.literal(true),
    event_id: z.string(),
    position: nonNegativeInteger,
    source: optionalText,
  }),
  z.looseObject({
    imported: z.undefined().optional(),
    result_id: z.string(),
    generation: nonNegativeInteger,
    agent_id: z.string(),
    session_id: z.string(),
  }),
]);

/**
 * The envelope fields that the roles, the summary and the signatures use. Another program may have written the log, so the
 * types of the fields are checked.
 */
const envelope = z.looseObject({
  event_type: z.string(),
  timestamp: z.string(),
  position: nonNegativeInteger,
  subject: optionalText,
  seq: nonNegativeInteger.optional(),
  agent_id: z.string(),
  agent_role: optionalText,
  session_id: optionalText,
  generation: nonNegativeInteger.optional(),
  request_id: optionalText,
});
/** The fields that are read from a payload of any event type. */
const payload = z.looseObject({
  signature: optionalText,
  inputs: optionalText,
  expires_at: optionalText.nullable(),
  cause: optionalText,
  disposition: optionalText,
  expired_at: optionalText,
  by: optionalText,
  reason: optionalText,
  late: z.boolean().optional(),
  result_id: optionalText,
  result_sha256: optionalText,
  result_size_bytes: nonNegativeInteger.optional(),
  adopted_from: adoptedFrom.optional(),
  decision: optionalText,
  reviewer: optionalText,
  pushed_by: optionalText,
  candidate_sha256: optionalText,
  rejection_reason: optionalText,
  submitted_generation: nonNegativeInteger.optional(),
  current_generation: nonNegativeInteger.optional(),
  parked: z.boolean().optional(),
  record: z.looseObject({ public_key: optionalText }).optional(),
});

/** An event of a task proof, or one that may become part of it. Its payload is null if the proof does not have it, as after redaction. */
export type ProofEvent = z.infer<typeof envelope> & { readonly payload: z.infer<typeof payload> | null };

/** Null if the types of the fields are wrong. */
export function toProofEvent(fields: unknown, payloadValue: unknown): ProofEvent | null {
  const event = envelope.safeParse(fields);
  if (!event.success) return null;
  if (payloadValue === null) return { ...event.data, payload: null };
  const content = payload.safeParse(payloadValue);
  return content.success ? { ...event.data, payload: content.data } : null;
}

/** The event that an inclusion proof is about; null if its leaf or its payload is not valid. */
export function provenEvent({ leaf, payload: payloadText }: InclusionProof): ProofEvent | null {
  const fields = readStrictJson(leaf);
  if ('fault' in fields) return null;
  if (payloadText === undefined) return toProofEvent(fields.value, null);
  const content = readStrictJson(payloadText);
  return 'fault' in content || !isObject(content.value) ? null : toProofEvent(fields.value, content.value);
}

/**
 * The kind of claim event that the event counts as in a task proof; null: none. Refused results and warnings change no head,
 * so they count without a seq. Every other kind counts only with a seq: without one, the event was only reported or imported.
 * Escalations and warnings have the same event type; the seq distinguishes them, even if the payload is redacted.
 */
export function claimEventKindIn({ event_type, seq }: ProofEvent): ClaimEventKind | null {
  const kind = claimEventKindOf(event_type);
  if (kind === undefined) return null;
  if (kind === 'escalated') return seq === undefined ? 'warned' : 'escalated';
  if (kind === 'result_refused') return seq === undefined ? kind : null;
  return seq === undefined ? null : kind;
}

export const isSessionOpening = ({ event_type, subject, session_id }: ProofEvent): boolean =>
  event_type === 'SESSION_OPENED' && session_id !== undefined && subject === sessionSubject(session_id);
