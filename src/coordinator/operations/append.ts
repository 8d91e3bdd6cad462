import type { ClaimHandle } from '../../core/claims/commands.js';
import {
  handleFault,
  type ReportedStep,
  reporterFault,
  stepReporterFault,
} from '../../core/claims/decide/handle.js';
import { signOfLife } from '../../core/claims/decide/sign-of-life.js';
import { isLive } from '../../core/claims/lease.js';
import { type AppendRefusal, adviceFor } from '../../core/contract/codes.js';
import type { AppendBody, AppendResult } from '../../core/contract/events.js';
import { runEndRefusal } from '../../core/engine/run-end.js';
import { isCancellation, isRunConclusion, isRunOrWaitStart } from '../../core/engine/run-events.js';
import { isRunEvent } from '../../core/engine/run-summaries.js';
import {
  checkNewEvent,
  isAgentReported,
  isCommandDecided,
  isHumanOnly,
} from '../../core/events/catalogue.js';
import { type EventDraft, isoTime } from '../../core/events/envelope.js';
import { edgeSubject } from '../../core/methodology/definition/edge-name.js';
import { subjectKeys, subjectKindOf } from '../../core/subject.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import type { Caller } from '../authentication/caller.js';
import { clampToNow } from '../queue/offline-event.js';
import type { Operation, RequestKey } from '../queue/operation.js';
import { TransactionBuilder } from '../queue/transaction-builder.js';
import { textDigest } from '../runtime/identity.js';
import { fieldProblem, type Problem, problem } from '../wire/problem.js';
import { unknownSubjectText } from './facts.js';
import { addAction, type RequestFields, requestKeyOf } from './shared.js';

/**
 * Appends an event about a step of the methodology, reported by the agent that took the step. The event changes no
 * head. If it concerns claimed work, only the holder may append it.
 */
export function appendOperation(
  subject: string | null,
  body: AppendBody & RequestFields,
  caller: Caller,
): Operation<AppendResult | Problem> {
  const requestKey = requestKeyByEventId(body) ?? requestKeyOf(caller, 'append_event', body);
  return {
    kind: 'append_event',
    requestKey,
    attempt(view) {
      const transaction = new TransactionBuilder(view, body.request_id);
      const refusal = subject === null ? null : appendRefusal(transaction, subject, body, caller);
      if (refusal !== null) return transaction.answer(requestKey, refusal);
      const event_id = body.event_id ?? view.newEventId();
      const draft = draftOf(body, subject, view.now_ms);
      const checked = checkNewEvent({ ...view.key, event_id, ...draft });
      if (!checked.ok) {
        const faults = checked.faults.slice(0, 20);
        const detail = `${faults[0]?.path}: ${faults[0]?.message}`;
        return transaction.answer(requestKey, problem('INVALID_EVENT', detail, faults));
      }
      const { signature, signed_text } = body;
      const occurred_at = body.occurred_at && clampToNow(body.occurred_at, view.now_ms);
      const { principal } = caller;
      const optionalFields = withoutUndefined({ occurred_at, signature, signed_text });
      // Added after validation, and replaces any such field in the payload: only the server knows the credential.
      draft.payload = { ...draft.payload, principal, ...optionalFields };
      if (subject !== null) addSignOfLife(transaction, subject, handleOf(body, caller));
      transaction.addLooseEvent(draft, event_id);
      return { transaction: transaction.build(requestKey), reply: appendedResult(event_id) };
    },
    replay(events) {
      // Skips the holder's sign of life. Unlike the appended event, it changes the head and has a seq.
      const event = events.find(({ seq }) => seq === undefined);
      if (event === undefined) throw new Error('the stored request of an appended event has no event');
      return appendedResult(event.event_id);
    },
  };
}

/** Why the event is refused; null if it is not. The transaction checks the head, because the holder may change. */
function appendRefusal(transaction: TransactionBuilder, subject: string, body: AppendBody, caller: Caller) {
  const { view } = transaction.checkHead(subject);
  const head = view.head(subject);
  const unknownText = head.seq === 0 ? unknownSubjectText(view, subject) : null;
  if (unknownText !== null) {
    const isEdge = subjectKindOf(subject) === 'edge';
    return refusedAppend('UNKNOWN_TASK', isEdge ? unknownText : adviceFor('UNKNOWN_TASK', subject));
  }
  const handle = handleOf(body, caller);
  const context = view.decisionContext(subject);
  // An executor may append a cancellation only on a completed edge: its run ends because another result was accepted.
  if (isCancellation(body) && head.phase !== 'COMPLETED' && !caller.may_review)
    return decidedTypeProblem(body);
  // The command that cancels a run also ends the claim of its executor.
  if (isCancellation(body) && isLive(head, context.now_ms, context.rules))
    return refusedAppend('SESSION_MISMATCH', 'The edge is claimed. Cancel the run instead: gen runs cancel.');
  const refusal = isRunEvent(body.event_type)
    ? stepReporterFault(head, reportedStep(body), handle, context)
    : reporterFault(head, handle, context);
  if (refusal !== null) return refusedAppend(refusal);
  const endRefusal = runEndRefusal(body, head);
  return endRefusal === null ? null : refusedAppend(endRefusal.reason, endRefusal.next);
}

const reportedStep = (body: AppendBody): ReportedStep => ({
  generation: body.generation,
  begins_run_or_wait: isRunOrWaitStart(body),
  concludes_run: isRunConclusion(body),
});

/** A step that the holder of a live claim reports is a sign of life. */
function addSignOfLife(transaction: TransactionBuilder, subject: string, handle: ClaimHandle | null): void {
  const { view } = transaction;
  const head = view.head(subject);
  const context = view.decisionContext(subject);
  if (handle === null || handleFault(head, handle, context) !== null) return;
  const decision = signOfLife(head, context);
  if (decision.events.length > 0) addAction(transaction, decision);
}

function handleOf({ generation, session_id, claim_id }: AppendBody, caller: Caller): ClaimHandle | null {
  if (generation === undefined || session_id === undefined) return null;
  if (claim_id === undefined && !caller.claim_id_optional) return null;
  return { generation, session_id, claim_id: claim_id ?? null };
}

function draftOf(body: AppendBody, subject: string | null, nowMs: number): EventDraft {
  const { event_type, agent_id, agent_role, session_id, generation, payload, feature_id } = body;
  const draft: EventDraft = { event_type, timestamp: isoTime(nowMs), agent_id, payload };
  const subjectFields = subject === null ? { feature_id } : { subject, ...subjectKeys(subject) };
  return Object.assign(draft, withoutUndefined({ ...subjectFields, agent_role, session_id, generation }));
}

/**
 * The request key of an event that brings its own id: the same for all callers and request ids. The same event sent again
 * takes effect once, and other content under the same id is a conflict.
 */
function requestKeyByEventId(body: AppendBody & RequestFields): RequestKey | null {
  const { event_id, request_id: _, signature: __, signed_text: ___, ...content } = body;
  if (event_id === undefined) return null;
  return { key: `~event/${event_id}`, digest: textDigest(JSON.stringify(content)) };
}

/** The subject of the event: a task or an edge of a feature; null if the event is about a feature or the project. */
export function appendSubjectOf(body: AppendBody, caller: Caller) {
  const { task_id, feature_id, edge } = body;
  const problem = eventTypeProblem(body, caller);
  if (problem !== null) return problem;
  const isEdge = edge !== undefined || (task_id !== undefined && subjectKindOf(task_id) === 'edge');
  // Runs belong to edges. Without the claim of an edge, any agent could record runs and their cost.
  if (isRunEvent(body.event_type) && !isEdge)
    return fieldProblem('task_id', 'expected the edge of the run: send feature_id and edge');
  if (task_id !== undefined && feature_id === undefined && edge === undefined) return task_id;
  if (task_id === undefined && feature_id !== undefined && edge !== undefined) {
    return edgeSubject(feature_id, edge);
  }
  if (task_id === undefined && edge === undefined) return null;
  return fieldProblem('task_id', 'expected task_id, or feature_id with or without edge, or none of them');
}

/** Why this caller may not append events of this type; null if it may. */
function eventTypeProblem(body: AppendBody, { may_work, may_review }: Caller): Problem | null {
  const { event_type: eventType } = body;
  const forbidden = (reason: string): Problem =>
    fieldProblem('event_type', `${eventType} ${reason}`, 'FORBIDDEN');
  if (!isAgentReported(eventType) || (isCommandDecided(eventType) && !may_review))
    return decidedTypeProblem(body);
  if (isHumanOnly(eventType) && !may_review) {
    return forbidden('records a decision of a person: append it with a credential that may review');
  }
  if (may_work || isHumanOnly(eventType)) return null;
  return forbidden('needs a credential that may work: a reviewer appends only decisions of people');
}

const decidedTypeProblem = ({ event_type }: AppendBody): Problem =>
  fieldProblem(
    'event_type',
    `${event_type} cannot be appended: it is written by the command that causes it`,
    'INVALID_EVENT',
  );

const appendedResult = (event_id: string): AppendResult => ({ success: true, reason: 'APPENDED', event_id });

const refusedAppend = (reason: AppendRefusal, next = adviceFor(reason)): AppendResult => ({
  success: false,
  reason,
  event_id: null,
  next,
});
