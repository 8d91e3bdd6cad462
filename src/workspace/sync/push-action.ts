import { type ClaimEventKind, claimEventKindOf } from '../../core/claims/claim-event-kinds.js';
import { isAgentReported } from '../../core/events/catalogue.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { isImported } from '../../core/events/known-event.js';
import { isObject } from '../../core/events/plain-data.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import type { RemoteCommand } from './remote.js';

export interface RemoteHandle {
  readonly generation: number;
  /** Absent if the remote granted the claim before the workspace went offline, because only the holder has the id. */
  readonly claim_id?: string;
}

export type PushAction =
  | { readonly kind: 'send'; readonly verb: RemoteCommand; readonly body: Record<string, unknown> }
  | { readonly kind: 'import' }
  /** The event follows from others that are sent, or matters only locally. */
  | { readonly kind: 'skip' }
  | { readonly kind: 'not_sent'; readonly because: string };

const DECIDED_BY_PERSON = 'a person decided this locally: decide it at the remote too';
const LOCAL_SETTING = 'a local setting: set it at the remote too';
const SKIP: PushAction = { kind: 'skip' };

/**
 * How an event is pushed. `handle` is the handle that the claim of the event has at the remote. `acceptedEventId` is the
 * id of the result's event, if the event is a review that accepted the result.
 */
export function pushActionFor(
  event: EventEnvelope,
  handle: RemoteHandle,
  acceptedEventId?: string,
): PushAction {
  const { event_type, subject, payload } = event;
  if (subject === undefined && isImported(payload)) return { kind: 'import' };
  if (isAgentReported(event_type)) return sendAction('append', appendBody(event, handle));
  const eventKind = claimEventKindOf(event_type);
  if (eventKind !== undefined && subject !== undefined)
    return ACTION_BY_EVENT_KIND[eventKind](event, handle, acceptedEventId);
  if (RECORDED_BY_FILES.has(event_type) || event_type.startsWith('SESSION_')) return SKIP;
  return {
    kind: 'not_sent',
    because: subject === undefined ? `no command reports ${event_type}` : LOCAL_SETTING,
  };
}

/** Events about changes of the workspace's files. They are not sent, because the push sends the files first. */
const RECORDED_BY_FILES: ReadonlySet<string> = new Set(['METHODOLOGY_CHANGED', 'FEATURE_CHANGED']);

type PushActionBuilder = typeof pushActionFor;
const notSent =
  (because: string): PushActionBuilder =>
  () => ({ kind: 'not_sent', because });
const skipAction: PushActionBuilder = () => SKIP;

const ACTION_BY_EVENT_KIND: Readonly<Record<ClaimEventKind, PushActionBuilder>> = {
  granted: (event) => sendAction('claim', claimBody(event)),
  accepted: submitAction,
  // An escalation without a `seq` is a warning that came with the result.
  escalated: (event, handle) => (event.seq === undefined ? SKIP : submitAction(event, handle)),
  released: (event, handle) => {
    const { reason, message } = event.payload;
    if (reason === 'FORCED') return { kind: 'not_sent', because: DECIDED_BY_PERSON };
    return sendAction('release', {
      ...expectedHolderOf(event, handle),
      reason: reason === 'ERROR' ? 'ERROR' : 'VOLUNTARY',
      message: message === '' ? undefined : message,
      offline: offlineOf(event),
    });
  },
  suspended: (event, handle) => {
    const { gate } = event.payload;
    return sendAction('suspend', {
      ...expectedHolderOf(event, handle),
      ...(isObject(gate) ? gate : {}),
      offline: offlineOf(event),
    });
  },
  resumed: (event, handle) =>
    sendAction('resume', { ...expectedHolderOf(event, handle), offline: offlineOf(event) }),
  reviewed: reviewAction,
  noted: (event, handle) => {
    const { text } = event.payload;
    const { generation } = handle;
    // The id of a note derives from its content and its local generation, so the remote needs that generation too.
    const offline = { generation: event.generation, occurred_at: occurredAt(event) };
    return sendAction('note', { ...holderOf(event, handle), generation, text, offline });
  },
  renewed: skipAction,
  lost: skipAction,
  warned: skipAction,
  claim_refused: skipAction,
  refusals_counted: skipAction,
  result_refused: notSent('the result was refused locally, and stays local'),
  adopted: notSent(DECIDED_BY_PERSON),
  held: notSent(DECIDED_BY_PERSON),
  unheld: notSent(DECIDED_BY_PERSON),
  reset: notSent(DECIDED_BY_PERSON),
};

const sendAction = (verb: RemoteCommand, body: Record<string, unknown>): PushAction => ({
  kind: 'send',
  verb,
  body: withoutUndefined(body),
});

function claimBody(event: EventEnvelope) {
  const { subject, agent_id, agent_role, session_id, payload, event_id } = event;
  const { metadata } = payload;
  const lease_duration_seconds = payload.lease_duration_seconds ?? undefined;
  const claim = { task_id: subject, agent_id, session_id, agent_role, metadata, lease_duration_seconds };
  return { ...claim, request_id: event_id, offline: offlineOf(event) };
}

function submitAction(event: EventEnvelope, handle: RemoteHandle): PushAction {
  const { blob_sha256, iteration, evaluators, convergence_type, context_hash } = event.payload;
  const result_data = blob_sha256 === undefined ? event.payload.result_data : undefined;
  const evidence = { iteration, evaluators, convergence_type, context_hash };
  const { generation } = handle;
  return sendAction('submit', {
    ...holderOf(event, handle),
    generation,
    result_data,
    blob_sha256,
    ...evidence,
    offline: offlineOf(event),
  });
}

function reviewAction(
  event: EventEnvelope,
  { generation }: RemoteHandle,
  accepted_event_id?: string,
): PushAction {
  const { subject: task_id, event_id: request_id, payload } = event;
  const { decision, iteration, candidate_sha256, comment, reviewer } = payload;
  const offline = withoutUndefined({ ...offlineOf(event), reviewer, accepted_event_id });
  return sendAction('review', {
    task_id,
    generation,
    decision,
    iteration,
    candidate_sha256,
    comment,
    request_id,
    offline,
  });
}

/**
 * Whether a review accepted the candidate as the result. Otherwise the holder continues with a new lease, or has lost
 * its claim.
 */
export const isAcceptingReview = ({ event_type, payload }: EventEnvelope): boolean =>
  claimEventKindOf(event_type) === 'reviewed' &&
  payload.decision === 'APPROVED' &&
  payload.lease_duration_seconds === undefined;

function appendBody(event: EventEnvelope, { generation, claim_id }: RemoteHandle) {
  const { event_type, event_id, task_id, feature_id, edge, agent_id, agent_role, session_id } = event;
  // The push authenticates with another credential, so the event's own signature and principal do not apply.
  const { signature: _, signed_text: __, principal: ___, occurred_at: ____, ...payload } = event.payload;
  const occurred_at = occurredAt(event);
  const claimFields = event.generation === undefined ? {} : { generation, claim_id };
  const subjectFields = { task_id, feature_id, edge, agent_role, session_id, ...claimFields };
  return { event_type, event_id, occurred_at, agent_id, payload, ...subjectFields };
}

const occurredAt = ({ timestamp, payload }: EventEnvelope): unknown => payload.occurred_at ?? timestamp;

/** The event of the local log that a command repeats, and the time of the decision. */
const offlineOf = (event: EventEnvelope) => ({
  event_id: event.event_id,
  occurred_at: occurredAt(event),
});

const holderOf = (event: EventEnvelope, { claim_id }: RemoteHandle) => ({
  task_id: event.subject,
  session_id: event.session_id,
  claim_id,
  request_id: event.event_id,
});

const expectedHolderOf = (event: EventEnvelope, handle: RemoteHandle) => ({
  ...holderOf(event, handle),
  expected_generation: handle.generation,
});
