import { claimEventKindOf } from '../claims/claim-event-kinds.js';
import type { ClaimRef, ProgressCounts, SessionMemory, TaskLogEntry } from '../contract/sessions.js';
import type { EventEnvelope } from '../events/envelope.js';
import { asClaimEvent, asKnownEvent } from '../events/known-event.js';
import { planPositionOf } from '../plan/plan-position.js';
import { sessionSubject, subjectKindOf } from '../subject.js';
import { isAgentAction, isUnverified } from './agent-action.js';

/** Maximum number of entries in the task log of a session. The latest are kept; the log of the project has the rest. */
export const TASK_LOG_MAX = 1000;
/** Maximum total length of these entries as JSON; a single entry may exceed it. */
export const TASK_LOG_CHARS_MAX = 4 * 1024 * 1024;

/** Fold of a session. It may span several projects, whose positions are independent. */
export const emptySession = (session_id: string) => ({
  session_id,
  positions: new Map<string, number>(),
  tenant_id: null as string | null,
  project_id: null as string | null,
  user_id: null as string | null,
  created_at: null as string | null,
  last_activity: null as string | null,
  task_log: [] as { readonly entry: TaskLogEntry; readonly chars: number }[],
  task_log_chars: 0,
  task_log_omitted: 0,
  active_claims: new Map<string, ClaimRef>(),
  /** By project and task, so that the same id in two projects counts as two tasks. */
  completed_tasks: new Map<string, string>(),
  track_assignments: new Map<string, string>(),
});
export type SessionFold = ReturnType<typeof emptySession>;

/** Folds one event into the session; events of other sessions and repeated events change nothing. */
export function evolveSession(session: SessionFold, event: EventEnvelope): void {
  const isOwnRecord = event.subject === sessionSubject(session.session_id);
  if (!isOwnRecord && (event.session_id !== session.session_id || isUnverified(event))) return;
  if (event.position <= (session.positions.get(event.project_id) ?? 0)) return;
  session.positions.set(event.project_id, event.position);
  session.tenant_id = event.tenant_id;
  if (isOwnRecord) evolveOwnRecord(session, event);
  if (event.subject === undefined || subjectKindOf(event.subject) === 'record') return;
  session.created_at ??= event.timestamp;
  if (isAgentAction(event)) session.last_activity = event.timestamp;
  session.project_id = event.project_id;
  appendLogEntry(session, logEntry(event, event.subject));
  evolveClaims(session, event, event.subject);
}

function appendLogEntry(session: SessionFold, entry: TaskLogEntry): void {
  const chars = JSON.stringify(entry).length;
  const { task_log } = session;
  task_log.push({ entry, chars });
  session.task_log_chars += chars;
  while (
    task_log.length > 1 &&
    (task_log.length > TASK_LOG_MAX || session.task_log_chars > TASK_LOG_CHARS_MAX)
  ) {
    session.task_log_chars -= task_log.shift()?.chars ?? 0;
    session.task_log_omitted += 1;
  }
}

function evolveOwnRecord(session: SessionFold, event: EventEnvelope): void {
  const sessionEvent = asKnownEvent(event);
  if (sessionEvent?.event_type === 'SESSION_OPENED' || sessionEvent?.event_type === 'SESSION_CLOSED') {
    const { user_id, created_at } = sessionEvent.payload.record;
    session.user_id = user_id ?? session.user_id;
    session.created_at = created_at;
  }
  session.created_at ??= event.timestamp;
  session.last_activity = event.timestamp;
}

function logEntry(event: EventEnvelope, subject: string): TaskLogEntry {
  // A result may be large; the reference is sufficient.
  const { work_product_ref, outcome: _, result_data: __, ...details } = event.payload;
  return {
    timestamp: event.timestamp,
    event: event.event_type,
    ...planPositionOf(subject),
    generation: event.generation ?? null,
    agent_id: event.agent_id,
    outcome: submissionOutcomeOf(event),
    work_product_ref: typeof work_product_ref === 'string' ? work_product_ref : null,
    details,
  };
}

function submissionOutcomeOf(event: EventEnvelope): TaskLogEntry['outcome'] {
  const kind = claimEventKindOf(event.event_type);
  if (kind === 'accepted' || kind === 'adopted') return 'ACCEPTED';
  return kind === 'result_refused' ? 'REJECTED' : null;
}

/** Updates claims and completed tasks. A lapsed claim stays until its expiry is in the log. */
function evolveClaims(session: SessionFold, event: EventEnvelope, subject: string): void {
  const key = `${event.project_id}/${subject}`;
  const { project_id, generation = 0 } = event;
  const holdUntil = (expires_at: string | null): void => {
    session.active_claims.set(key, { project_id, task_id: subject, generation, expires_at });
  };
  const claimEvent = asClaimEvent(event);
  switch (claimEvent?.kind) {
    case 'granted':
      holdUntil(claimEvent.payload.expires_at);
      assignTrack(session, subject, event.agent_id);
      session.user_id ??= claimEvent.payload.user_id ?? null;
      break;
    case 'renewed':
    case 'resumed':
      holdUntil(claimEvent.payload.expires_at);
      break;
    case 'reviewed':
      if (claimEvent.payload.expires_at !== undefined) holdUntil(claimEvent.payload.expires_at);
      break;
    case 'suspended':
    case 'escalated':
    case 'warned':
      if ('until' in claimEvent.payload) holdUntil(claimEvent.payload.until);
      break;
    case 'lost':
      if (claimEvent.payload.disposition !== 'held') session.active_claims.delete(key);
      break;
    case 'released':
      session.active_claims.delete(key);
      break;
    case 'accepted':
    case 'adopted':
      session.active_claims.delete(key);
      session.completed_tasks.set(key, subject);
      break;
    case 'reset':
      session.completed_tasks.delete(key);
      break;
  }
}

function assignTrack(session: SessionFold, subject: string, agentId: string): void {
  const { track } = planPositionOf(subject);
  if (track !== null) session.track_assignments.set(track, agentId);
}

/**
 * `track_progress`: progress of the tracks in all projects of the session, with the work of other sessions. `limit`: maximum
 * length of each list.
 */
export function sessionMemory(
  session: SessionFold,
  track_progress: Readonly<Record<string, ProgressCounts>>,
  limit = TASK_LOG_MAX,
): SessionMemory {
  const { positions: _, task_log_chars: __, task_log_omitted, ...sessionFields } = session;
  const entries = session.task_log.map(({ entry }) => entry);
  const claims = [...session.active_claims.values()];
  const completed = [...session.completed_tasks.values()];
  const omittedCount = (items: readonly unknown[]): number => Math.max(0, items.length - limit);
  const omitted = {
    task_log: task_log_omitted + omittedCount(entries),
    active_claims: omittedCount(claims),
    completed_tasks: omittedCount(completed),
  };
  return {
    ...sessionFields,
    task_log: entries.slice(-limit),
    active_claims: claims.slice(-limit),
    completed_tasks: completed.slice(-limit),
    track_assignments: Object.fromEntries(session.track_assignments),
    track_progress,
    ...(Object.values(omitted).some((count) => count > 0) ? { omitted } : {}),
  };
}
