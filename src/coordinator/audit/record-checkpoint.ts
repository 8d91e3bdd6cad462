import { ALARM_EVENT, type AuditAlarm } from '../../core/audit/alarm.js';
import type { Checkpoint } from '../../core/audit/checkpoint.js';
import { CHECKPOINT_EVENT, KEY_ENROLLED_EVENT, type KeyEnrolled } from '../../core/audit/key-events.js';
import { AUDIT_SUBJECT } from '../../core/subject.js';
import { operationOf } from '../operations/shared.js';
import type { Operation } from '../queue/operation.js';
import { draftEvent, type TransactionBuilder } from '../queue/transaction-builder.js';
import { contentEventId } from '../runtime/identity.js';

const AUDITOR = 'audit';

/** Writes a checkpoint. Its event id derives from incarnation and position, so two coordinators write it only once. */
export const recordCheckpoint = (checkpoint: Checkpoint): Operation<true> =>
  recordOf(CHECKPOINT_EVENT, [checkpoint.incarnation, checkpoint.position], checkpoint);

/** Enrols the key of this coordinator, before it signs its first checkpoint or record in a project. */
export const recordKey = (key: KeyEnrolled): Operation<true> =>
  recordOf(KEY_ENROLLED_EVENT, enrolmentIdParts(key), key);

/**
 * Parts of an enrolment's event id. They include how the key is enrolled: an enrolment without effect must not prevent
 * a later enrolment of another kind.
 */
export const enrolmentIdParts = (key: KeyEnrolled): readonly string[] =>
  key.how === 'rotated' ? [key.key_id, key.how, key.previous_key_id] : [key.key_id, key.how];

/** Records that this coordinator computed a root that differs from the root in a checkpoint of the log. */
export const recordAlarm = (alarm: AuditAlarm): Operation<true> =>
  recordOf(ALARM_EVENT, [alarm.position, alarm.computed_root], alarm);

const recordOf = (eventType: string, idParts: readonly (string | number)[], payload: object) =>
  operationOf(eventType.toLowerCase(), null, (transaction) => {
    addAuditEvent(transaction, AUDITOR, eventType, idParts, payload);
    return true as const;
  });

/** Adds an event about the audit. Of several events with the same `idParts`, only the first is written. */
export function addAuditEvent(
  transaction: TransactionBuilder,
  agentId: string,
  eventType: string,
  idParts: readonly (string | number)[],
  payload: object,
): void {
  const { view } = transaction;
  const { tenant_id, project_id } = view.key;
  const draft = draftEvent(view, eventType, agentId, { ...payload });
  const eventId = contentEventId([eventType, tenant_id, project_id, ...idParts]);
  transaction.addLooseEvent({ ...draft, subject: AUDIT_SUBJECT }, eventId);
}
