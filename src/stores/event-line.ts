import { type EventEnvelope, isoTime, msOf, type NewEvent } from '../core/events/envelope.js';
import type { ProjectKey } from './store.js';

/** What a line has in place of a `task_id` that equals its `subject`. */
const TASK_IS_SUBJECT = 1;

/**
 * An event as a line: a JSON array without field names, which would take half of the line, and without the project, which
 * is part of the database key. A missing field is null. If the last three fields are missing, as usual, they are left out.
 */
type EventLineRow = [
  event_id: string,
  event_type: string,
  /** Milliseconds if the time has the format that the coordinator writes; else the text. */
  timestamp: string | number,
  agent_id: string,
  payload: EventEnvelope['payload'],
  subject?: string | null,
  seq?: number | null,
  session_id?: string | null,
  task_id?: string | typeof TASK_IS_SUBJECT | null,
  generation?: number | null,
  request_id?: string | null,
  feature_id?: string | null,
  edge?: string | null,
  agent_role?: string | null,
];

export function lineOf(event: NewEvent, atMs = msOf(event.timestamp)): string {
  const { subject, task_id } = event;
  const row: (EventLineRow[number] | undefined)[] = [
    event.event_id,
    event.event_type,
    isWrittenAs(event.timestamp, atMs) ? atMs : event.timestamp,
    event.agent_id,
    event.payload,
    subject,
    event.seq,
    event.session_id,
    task_id !== undefined && task_id === subject ? TASK_IS_SUBJECT : task_id,
    event.generation,
    event.request_id,
  ];
  if (event.feature_id !== undefined || event.edge !== undefined || event.agent_role !== undefined) {
    row.push(event.feature_id, event.edge, event.agent_role);
  }
  return JSON.stringify(row);
}

const isWrittenAs = (timestamp: string, atMs: number): boolean =>
  Number.isSafeInteger(atMs) && isoTime(atMs) === timestamp;

export function eventFromLine(line: string, position: number, projectKey: ProjectKey): EventEnvelope {
  const [eventId, eventType, timestamp, agentId, payload, ...optional] = JSON.parse(line) as EventLineRow;
  const [subject, seq, sessionId, taskId, generation, requestId, featureId, edge, agentRole] = optional;
  const event: EventEnvelope = {
    position,
    event_id: eventId,
    event_type: eventType,
    timestamp: typeof timestamp === 'number' ? isoTime(timestamp) : timestamp,
    tenant_id: projectKey.tenant_id,
    project_id: projectKey.project_id,
    agent_id: agentId,
    payload,
  };
  if (subject != null) event.subject = subject;
  if (seq != null) event.seq = seq;
  if (sessionId != null) event.session_id = sessionId;
  if (taskId != null) event.task_id = taskId === TASK_IS_SUBJECT ? (subject as string) : taskId;
  if (generation != null) event.generation = generation;
  if (requestId != null) event.request_id = requestId;
  if (featureId != null) event.feature_id = featureId;
  if (edge != null) event.edge = edge;
  if (agentRole != null) event.agent_role = agentRole;
  return event;
}
