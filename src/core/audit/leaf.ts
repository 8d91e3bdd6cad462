import { escapeJson } from '../escape-json.js';
import type { EventEnvelope } from '../events/envelope.js';

/** The fields of an event that a leaf contains. The leaf has the digest of the payload instead of the payload. */
export type LeafEnvelope = Omit<EventEnvelope, 'payload'>;

/**
 * The text of a leaf: the envelope in a fixed order of fields, with the digest of the payload (SHA-256 of its JSON text,
 * base64url) in place of the payload. Decision 17 fixes it: a change makes every earlier proof invalid.
 */
export const leafText = (event: LeafEnvelope, payloadSha256: string): string =>
  `${envelopeText(event, event.position)},"payload_sha256":"${escapeJson(payloadSha256)}"}`;

/**
 * The text of an envelope, without the brace at its end. The leaf of an event and its line in the log of the file store
 * begin with it. This runs for every event: manual concatenation takes half the time of `JSON.stringify`.
 */
export const envelopeText = (event: Omit<LeafEnvelope, 'position'>, position: number): string =>
  `{"event_id":"${escapeJson(event.event_id)}"${sharedText(event)},"position":${position}${optionalFieldsText(event)}`;

type SharedFields = Pick<LeafEnvelope, 'event_type' | 'timestamp' | 'tenant_id' | 'project_id'>;

/** The fields that consecutive events often share, as the last event had them, and their text. */
let lastShared: (SharedFields & { readonly text: string }) | null = null;

function sharedText({ event_type, timestamp, tenant_id, project_id }: SharedFields): string {
  if (
    lastShared !== null &&
    event_type === lastShared.event_type &&
    timestamp === lastShared.timestamp &&
    tenant_id === lastShared.tenant_id &&
    project_id === lastShared.project_id
  )
    return lastShared.text;
  const text =
    `,"event_type":"${escapeJson(event_type)}","timestamp":"${escapeJson(timestamp)}"` +
    `,"tenant_id":"${escapeJson(tenant_id)}","project_id":"${escapeJson(project_id)}"`;
  lastShared = { event_type, timestamp, tenant_id, project_id, text };
  return text;
}

/** The fields after the position, most of which are optional. */
function optionalFieldsText(event: Omit<LeafEnvelope, 'position'>): string {
  const subject = event.subject === undefined ? '' : escapeJson(event.subject);
  let text = event.subject === undefined ? '' : `,"subject":"${subject}"`;
  if (event.seq !== undefined) text += `,"seq":${event.seq}`;
  if (event.task_id !== undefined) {
    const taskId = event.task_id === event.subject ? subject : escapeJson(event.task_id);
    text += `,"task_id":"${taskId}"`;
  }
  if (event.feature_id !== undefined) text += `,"feature_id":"${escapeJson(event.feature_id)}"`;
  if (event.edge !== undefined) text += `,"edge":"${escapeJson(event.edge)}"`;
  text += `,"agent_id":"${escapeJson(event.agent_id)}"`;
  if (event.agent_role !== undefined) text += `,"agent_role":"${escapeJson(event.agent_role)}"`;
  if (event.session_id !== undefined) text += `,"session_id":"${escapeJson(event.session_id)}"`;
  if (event.generation !== undefined) text += `,"generation":${event.generation}`;
  if (event.request_id !== undefined) text += `,"request_id":"${escapeJson(event.request_id)}"`;
  return text;
}
