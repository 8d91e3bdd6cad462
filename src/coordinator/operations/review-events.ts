import { noticeNameOf, type ReviewIdentity, type ReviewNotice } from '../../core/engine/review-notices.js';
import type { EventPayloads } from '../../core/events/catalogue.js';
import { isoTime } from '../../core/events/envelope.js';
import { subjectKeys } from '../../core/subject.js';
import type { ProjectKey } from '../../stores/store.js';
import { reviewTimesOf } from '../methodology/review-times.js';
import type { Operation } from '../queue/operation.js';
import { draftEvent, type TransactionBuilder } from '../queue/transaction-builder.js';
import { contentEventId } from '../runtime/identity.js';
import { operationOf } from './shared.js';

/** The agent that is recorded in events that no session has caused. */
const COORDINATOR = 'coordinator';

type ReviewEventType = 'review_notified' | 'review_notice_failed' | 'escalation_timeout';

/** The id of a notice. All coordinators compute the same id, so a receiver recognizes a repeated delivery. */
export const noticeIdOf = (
  { tenant_id, project_id }: ProjectKey,
  review: ReviewIdentity,
  notice: ReviewNotice,
): string => contentEventId(['review_notice', tenant_id, project_id, ...noticeNameOf(review, notice)]);

/** Records how a notice ended. Both outcomes of one notice can be recorded, each once. */
export const recordNotice = <Type extends 'review_notified' | 'review_notice_failed'>(
  review: ReviewIdentity,
  type: Type,
  payload: EventPayloads[Type],
): Operation<true> =>
  operationOf(type, null, (transaction) => {
    addReviewEvent(transaction, review, type, payload, payload.notice_id);
    return true as const;
  });

/** Records that the review of a subject is overdue. Resolves to false, and records nothing, if it is not overdue. */
export const recordReviewTimeout = (subject: string): Operation<boolean> =>
  operationOf('escalation_timeout', null, (transaction) => {
    const { view } = transaction.checkHead(subject);
    const head = view.head(subject);
    const times = reviewTimesOf(head, view.methodology?.engine?.review);
    if (times?.deadline_ms == null || view.now_ms < times.deadline_ms || head.gate === null) return false;
    const { generation, iteration, candidate_sha256 } = head.gate;
    const review = { task_id: subject, generation, iteration, candidate_sha256 };
    const payload = { iteration, candidate_sha256, deadline: isoTime(times.deadline_ms) };
    addReviewEvent(transaction, review, 'escalation_timeout', payload, reviewIdOf(review));
    return true;
  });

/** Identifies one candidate that a person reviews. */
export const reviewIdOf = ({ task_id, generation, iteration, candidate_sha256 }: ReviewIdentity): string =>
  JSON.stringify([task_id, generation, iteration, candidate_sha256]);

/** Adds an event about a review. Its id derives from `identity`, so several coordinators record it once. */
function addReviewEvent<Type extends ReviewEventType>(
  transaction: TransactionBuilder,
  { task_id: subject, generation }: ReviewIdentity,
  type: Type,
  payload: EventPayloads[Type],
  identity: string,
): void {
  const { view } = transaction;
  const { tenant_id, project_id } = view.key;
  const draft = draftEvent(view, type, COORDINATOR, { ...payload });
  transaction.addLooseEvent(
    { ...draft, subject, ...subjectKeys(subject), generation },
    contentEventId([type, tenant_id, project_id, identity]),
  );
}
