import { redactedEvent, retentionDays } from '../../core/claims/retention.js';
import { type EventEnvelope, isoTime } from '../../core/events/envelope.js';
import { REDACTION_EVENT } from '../../core/events/known-event-types.js';
import { type HistoryRedacted, REDACTED_PER_EVENT_MAX } from '../../core/events/record-events.js';
import { HISTORY_SUBJECT } from '../../core/subject.js';
import { payloadDigest } from '../audit/audit-hash.js';
import { operationOf } from '../operations/shared.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Operation } from '../queue/operation.js';
import type { Project } from '../queue/project.js';
import { draftEvent } from '../queue/transaction-builder.js';
import { contentEventId, sha256Hex } from '../runtime/identity.js';
import { isProblem } from '../wire/problem.js';

/** The result of one pass over the old events of a project. */
interface RetentionPass {
  /** The number of redacted events. */
  readonly redacted: number;
  /** Every old event up to this position was examined. */
  readonly position: number;
  /** False if the pass stopped because a redaction could not be recorded. The next pass examines these events again. */
  readonly isComplete: boolean;
}

/** Adds the signature of the coordinator to a record, if the coordinator has a key that the project accepts. */
type SignRecord = <T extends object>(project: Project, eventType: string, payload: T) => Promise<T>;

export const HOUR_MS = 3600 * 1000;
export const DAY_MS = 24 * HOUR_MS;

/** The time before which events are old. */
export const retentionCutoff = (nowMs: number, days: number): string =>
  isoTime(Math.max(0, nowMs - days * DAY_MS));

/**
 * Redacts the payloads of old events, once a day per project. First the log records which events are redacted and what
 * remains of each. Then the store redacts them. An interrupted pass over a loaded project is repeated a day later.
 */
export class Retention {
  private readonly dueTimesMs = new WeakMap<Project, number>();

  constructor(private readonly sign: SignRecord) {}

  /** Due one hour after the project was loaded, then every day. */
  isDue(project: Project): boolean {
    const nowMs = project.now();
    const dueMs = this.dueTimesMs.get(project) ?? nowMs + HOUR_MS;
    this.dueTimesMs.set(project, dueMs);
    return nowMs >= dueMs;
  }

  /** Redacts the old events after a position. */
  async redactOldEvents(project: Project, afterPosition = 0): Promise<RetentionPass> {
    const view = project.view();
    this.dueTimesMs.set(project, view.now_ms + DAY_MS);
    const days = retentionDays(view.policy, view.limits);
    const until = retentionCutoff(view.now_ms, days);
    let redacted = 0;
    for (let after = afterPosition; ; ) {
      const page = await project.store.events(project.key, { after, until, limit: REDACTED_PER_EVENT_MAX });
      const last = page.at(-1);
      if (last === undefined) return { redacted, position: after, isComplete: true };
      after = last.position;
      const redactions = page.flatMap((event) => redactionsOf(project.view(), event));
      if (redactions.length === 0) continue;
      const payload = redactionPayloadOf({ before: until, retention_days: days }, redactions);
      const recorded = await project.run(recordRedaction(await this.sign(project, REDACTION_EVENT, payload)));
      if (isProblem(recorded)) return { redacted, position: after, isComplete: false };
      await project.store.redact(
        project.key,
        redactions.map(({ event }) => event),
      );
      redacted += redactions.length;
    }
  }
}

interface Redaction {
  /** The remaining payload of the event. */
  readonly event: EventEnvelope;
  /** The digest of the payload before the redaction, as in the event's leaf of the audit tree. */
  readonly original_sha256: string;
}

function redactionsOf(view: DecisionView, original: EventEnvelope): Redaction[] {
  const head = original.subject === undefined ? null : view.peekHead(original.subject);
  const event = redactedEvent(original, head);
  return event === null ? [] : [{ event, original_sha256: payloadDigest(original.payload) }];
}

/** The payload of the event that records the redactions. */
const redactionPayloadOf = (
  retention: Pick<HistoryRedacted, 'before' | 'retention_days'>,
  redactions: readonly Redaction[],
): HistoryRedacted => ({
  ...retention,
  events: redactions.map(({ event: { position, payload }, original_sha256 }) => ({
    position,
    payload_sha256: sha256Hex(JSON.stringify(payload)),
    original_sha256,
  })),
});

/** The operation that records a redaction. The event's id derives from its content, so a repeat adds nothing. */
const recordRedaction = (payload: HistoryRedacted): Operation<true> =>
  operationOf('forget_history', null, (transaction) => {
    const { view } = transaction;
    const eventId = contentEventId([REDACTION_EVENT, view.key.project_id, JSON.stringify(payload.events)]);
    const draft = draftEvent(view, REDACTION_EVENT, 'retention', { ...payload });
    transaction.addLooseEvent({ ...draft, subject: HISTORY_SUBJECT }, eventId);
    return true;
  });
