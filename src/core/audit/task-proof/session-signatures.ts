import { z } from 'zod';
import { canonicalJson } from '../../canonical-json.js';
import type { ClaimEventKind } from '../../claims/claim-event-kinds.js';
import { isObject } from '../../events/plain-data.js';
import { edgeSubject } from '../../methodology/definition/edge-name.js';
import { readSignature, type SignedCommand, signedText } from '../../signing.js';
import { readStrictJson } from '../../strict-json.js';
import { subjectKindOf } from '../../subject.js';
import { type HashBytes, type ProjectIds, utf8, type VerifySignature } from '../audit-values.js';
import { claimEventKindIn, isSessionOpening, type ProofEvent } from './proof-event.js';

/** What is needed to verify a signature besides the events: the body of the command, which the log does not have. */
export const signedBody = z.strictObject({
  /** The event that has the signature. */
  position: z.number().int(),
  command: z.enum(['claim_task', 'next', 'release_claim', 'submit_result']),
  /** Canonical JSON, without its signature. */
  body: z.string(),
});
export type SignedCommandBody = z.infer<typeof signedBody>;

const COMMANDS: Partial<Record<ClaimEventKind, readonly SignedCommandBody['command'][]>> = {
  granted: ['claim_task', 'next'],
  released: ['release_claim'],
  accepted: ['submit_result'],
  escalated: ['submit_result'],
  result_refused: ['submit_result'],
};

/** Of the commands whose bodies a proof can include, those that can have caused the event; none for other events. */
export const commandsOf = (event: ProofEvent): readonly SignedCommandBody['command'][] =>
  COMMANDS[claimEventKindIn(event) ?? 'noted'] ?? [];

/** The key that an event's session was opened with; null if the events do not show a key. */
export function sessionKey(event: ProofEvent, events: readonly ProofEvent[]): string | null {
  const opening = events.find((each) => isSessionOpening(each) && each.session_id === event.session_id);
  return opening?.payload?.record?.public_key ?? null;
}

export interface SignatureChecks {
  readonly hash: HashBytes;
  readonly verify: VerifySignature;
}

/** Why a body is not what the session signed for this event; null if it is. */
export function signedBodyFault(
  signed: SignedCommandBody,
  { project, events }: { readonly project: ProjectIds; readonly events: readonly ProofEvent[] },
  { hash, verify }: SignatureChecks,
): string | null {
  const event = events.find(({ position }) => position === signed.position);
  const signature = readSignature(event?.payload?.signature ?? '');
  if (event === undefined || signature === null) return 'the file has no signed event at this position';
  const key = sessionKey(event, events);
  if (key === null) return `the file shows no key of the session ${event.session_id}`;
  if (!commandsOf(event).includes(signed.command))
    return `${signed.command} does not cause a ${event.event_type}`;
  const parsed = readStrictJson(signed.body);
  if ('fault' in parsed || !isObject(parsed.value)) return 'the body is not a JSON object';
  const toSign = { ...project, command: signed.command as SignedCommand, body: parsed.value };
  const digest = Buffer.from(hash(utf8(signed.body))).toString('hex');
  if (!verify(key, signedText(toSign, digest, signature.issued_at), signature.value))
    return `the key of the session ${event.session_id} did not sign this command`;
  return isCommandOf(event, signed.command, parsed.value, hash)
    ? null
    : 'the session signed this command, but the event records another one';
}

/** Whether the event records exactly this command. Without this check, a signature could be moved to another event. */
function isCommandOf(
  event: ProofEvent,
  command: SignedCommandBody['command'],
  body: Readonly<Record<string, unknown>>,
  hash: HashBytes,
): boolean {
  if (body.session_id !== event.session_id || body.request_id !== event.request_id) return false;
  if (command === 'next') return body.agent_id === event.agent_id;
  if (subjectOfBody(body) !== event.subject) return false;
  if (command === 'claim_task') return body.agent_id === event.agent_id;
  if (command === 'release_claim') return body.expected_generation === event.generation;
  const { submitted_generation = event.generation, result_sha256 } = event.payload ?? {};
  return body.generation === submitted_generation && resultDigest(body, hash) === result_sha256;
}

function subjectOfBody({ task_id, feature_id, edge }: Readonly<Record<string, unknown>>): string | null {
  if (typeof feature_id === 'string' && typeof edge === 'string') return edgeSubject(feature_id, edge);
  if (typeof task_id !== 'string' || subjectKindOf(task_id) !== 'edge') return (task_id as string) ?? null;
  const separatorIndex = task_id.indexOf('#');
  return edgeSubject(task_id.slice(0, separatorIndex), task_id.slice(separatorIndex + 1));
}

function resultDigest({ result_data, blob_sha256 }: Readonly<Record<string, unknown>>, hash: HashBytes) {
  if (result_data === undefined) return blob_sha256;
  return Buffer.from(hash(utf8(canonicalJson(result_data)))).toString('hex');
}
