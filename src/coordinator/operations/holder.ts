import type { Decision, SubjectCommand } from '../../core/claims/commands.js';
import { decide } from '../../core/claims/decide.js';
import { subjectKindOf } from '../../core/subject.js';
import type { DecisionView } from '../queue/decision-view.js';
import { stepOf } from '../queue/direct-decision.js';
import type { Operation, RequestKey } from '../queue/operation.js';
import { TransactionBuilder } from '../queue/transaction-builder.js';
import { checkEvidenceRecords } from './edge-evidence.js';
import { addAction, type RequestFields, shortenSessionPermit, updateTrackPermits } from './shared.js';

/**
 * A command on one claim: renew, release, suspend, resume, note, review, expire. A repeated renew or release gets its
 * reply from the head. The replies to the other commands are remembered under `requestKey`.
 */
export const holderOperation = <Reply>(
  subject: string,
  command: SubjectCommand | ((view: DecisionView) => SubjectCommand),
  render: (decision: Decision) => Reply,
  requestFields: RequestFields = {},
  requestKey: RequestKey | null = null,
): Operation<Reply> => ({
  kind: typeof command === 'function' ? 'record_review' : command.type,
  requestKey,
  decideDirectly(view) {
    if (
      typeof command === 'function' ||
      requestKey !== null ||
      !isRecordedByOneEvent(subject, command, requestFields)
    )
      return null;
    const decision = decide(view.head(subject), command, view.decisionContext(subject));
    const step = stepOf(view, decision, null, requestFields.request_id);
    return step === null ? null : { decision, step, reply: render(decision) };
  },
  attempt(view) {
    const current = typeof command === 'function' ? command(view) : command;
    const decision = decide(view.head(subject), current, view.decisionContext(subject));
    const transaction = new TransactionBuilder(
      view,
      requestFields.request_id,
      undefined,
      requestFields.offline,
    );
    if (current.type === 'expire') addExpiry(transaction, decision);
    else addAction(transaction, decision, requestFields);
    if (current.type === 'record_review') checkEvidenceRecords(transaction, subject);
    if (decision.ok) transaction.markEffective();
    return transaction.answer(requestKey, render(decision));
  },
});

/** Whether one event can record the command: a renewal or release of a task, neither signed nor from an offline log. */
const isRecordedByOneEvent = (
  subject: string,
  { type }: SubjectCommand,
  { signature, offline }: RequestFields,
): boolean =>
  (type === 'renew' || type === 'release') &&
  signature === undefined &&
  offline === undefined &&
  subjectKindOf(subject) === 'task';

/** Adds an expiry. It is not an action of the session, so it does not count as activity of the session. */
function addExpiry(transaction: TransactionBuilder, decision: Decision): void {
  transaction.addDecision(decision);
  if (decision.next.claim?.state === 'EXPIRED') shortenSessionPermit(transaction, decision.head);
  updateTrackPermits(transaction, decision);
}
