import { claimEventKindOf, isLooseEvent } from '../claims/claim-event-kinds.js';
import type { EventEnvelope } from '../events/envelope.js';
import { sessionSubject, subjectKindOf } from '../subject.js';
import { isAgentAction } from './agent-action.js';
import { type PlanPosition, planPositionOf } from './plan-position.js';
import type { ProgressCounts } from './progress.js';

/** Maximum number of entries kept, the latest ones; the log has the rest. */
export const TASK_LOG_MAX = 1000;
/** Maximum total length as JSON; a single entry may exceed it. */
export const TASK_LOG_CHARS_MAX = 4 * 1024 * 1024;

export interface TaskLogEntry extends PlanPosition {
  readonly timestamp: string;
  readonly event: string;
  readonly generation: number | null;
  readonly agent_id: string;
  readonly outcome: 'ACCEPTED' | 'REJECTED' | null;
  readonly work_product_ref: string | null;
  readonly details: Readonly<Record<string, unknown>>;
}

export interface ClaimRef {
  readonly project_id: string;
  readonly task_id: string;
  readonly generation: number;
  readonly expires_at: string | null;
}

/** Actions of one session and events that affected it (seed 004 §3.5 and §4.2.1). */
export interface SessionMemory {
  readonly session_id: string;
  readonly tenant_id: string | null;
  readonly project_id: string | null;
  readonly user_id: string | null;
  readonly created_at: string | null;
  readonly last_activity: string | null;
  readonly task_log: readonly TaskLogEntry[];
  readonly active_claims: readonly ClaimRef[];
  readonly completed_tasks: readonly string[];
  readonly track_assignments: Readonly<Record<string, string>>;
  readonly track_progress: Readonly<Record<string, ProgressCounts>>;
  /** Number of older items left out of each list; absent if none are. */
  readonly omitted?: {
    readonly task_log: number;
    readonly active_claims: number;
    readonly completed_tasks: number;
  };
}

/** Fold of a session. It may span several projects, whose positions are independent. */
export interface SessionFold {
  readonly session_id: string;
  readonly positions: Map<string, number>;
  tenant_id: string | null;
  project_id: string | null;
  user_id: string | null;
  created_at: string | null;
  last_activity: string | null;
  readonly task_log: { readonly entry: TaskLogEntry; readonly chars: number }[];
  task_log_chars: number;
  task_log_omitted: number;
  readonly active_claims: Map<string, ClaimRef>;
  /** By project and task, so that the same id in two projects counts as two tasks. */
  readonly completed_tasks: Map<string, string>;
  readonly track_assignments: Map<string, string>;
}

export function emptySession(session_id: string): SessionFold {
  return {
    session_id,
    positions: new Map(),
    tenant_id: null,
    project_id: null,
    user_id: null,
    created_at: null,
    last_activity: null,
    task_log: [],
    task_log_chars: 0,
    task_log_omitted: 0,
    active_claims: new Map(),
    completed_tasks: new Map(),
    track_assignments: new Map(),
  };
}

/** Folds one event into the session; events of other sessions and repeated events change nothing. */
export function evolveSession(session: SessionFold, event: EventEnvelope): void {
  const isOwnRecord = event.subject === sessionSubject(session.session_id);
  if (!isOwnRecord && event.session_id !== session.session_id) return;
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
  const record = event.payload.record as { user_id?: string | null; created_at?: string } | undefined;
  session.user_id = record?.user_id ?? session.user_id;
  session.created_at = record?.created_at ?? session.created_at ?? event.timestamp;
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
    outcome: outcomeOf(event),
    work_product_ref: typeof work_product_ref === 'string' ? work_product_ref : null,
    details,
  };
}

function outcomeOf(event: EventEnvelope): TaskLogEntry['outcome'] {
  const kind = claimEventKindOf(event.event_type);
  if (kind === 'accepted' || kind === 'adopted') return 'ACCEPTED';
  return kind === 'result_denied' ? 'REJECTED' : null;
}

/** Updates claims and completed tasks. A lapsed claim stays until its expiry is in the log. */
function evolveClaims(session: SessionFold, event: EventEnvelope, subject: string): void {
  const key = `${event.project_id}/${subject}`;
  const { payload } = event;
  switch (claimEventKindOf(event.event_type)) {
    case 'granted':
      setActiveClaim(session, key, event, subject, payload.expires_at);
      assignTrack(session, subject, event.agent_id);
      session.user_id ??= typeof payload.user_id === 'string' ? payload.user_id : null;
      break;
    case 'renewed':
    case 'resumed':
      setActiveClaim(session, key, event, subject, payload.expires_at);
      break;
    case 'reviewed':
      if (payload.expires_at !== undefined) setActiveClaim(session, key, event, subject, payload.expires_at);
      break;
    case 'suspended':
    case 'escalated':
      if (!isLooseEvent(event)) setActiveClaim(session, key, event, subject, payload.until);
      break;
    case 'lost':
      if (payload.disposition !== 'held') session.active_claims.delete(key);
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

function setActiveClaim(
  session: SessionFold,
  key: string,
  event: EventEnvelope,
  task_id: string,
  until: unknown,
): void {
  const expires_at = typeof until === 'string' ? until : null;
  const { project_id, generation = 0 } = event;
  session.active_claims.set(key, { project_id, task_id, generation, expires_at });
}

function assignTrack(session: SessionFold, subject: string, agentId: string): void {
  const { track } = planPositionOf(subject);
  if (track !== null) session.track_assignments.set(track, agentId);
}

/**
 * `track_progress`: progress of the session's project, which includes other sessions. `limit`: maximum length of each
 * list.
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
