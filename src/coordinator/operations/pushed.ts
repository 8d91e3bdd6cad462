import { msOf } from '../../core/events/envelope.js';
import type { ProjectKey } from '../../stores/store.js';
import type { Caller } from '../authentication/caller.js';
import type { EventHistory } from '../queries/history.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { PushedEvent } from '../queue/offline-event.js';
import type { Attempt, NeedsFetch, Operation, RequestKey } from '../queue/operation.js';
import { TransactionBuilder } from '../queue/transaction-builder.js';
import { sha256Hex } from '../runtime/identity.js';
import { type Problem, problem } from '../wire/problem.js';

/**
 * The key of a pushed command: the id of its event, for every sender. The digest includes the sender, so no
 * other caller can repeat the command: the reply to a repeated claim contains the claim id.
 */
export const pushedRequestKey = (caller: Caller, eventId: string, text: string): RequestKey => ({
  key: keyOfEvent(eventId),
  digest: sha256Hex(`${caller.principal}\n${text}`),
});

const keyOfEvent = (eventId: string): string => `~event/${eventId}`;

/**
 * Refuses a pushed command if an event in the log already has one of its event ids. A repeated command gets its reply
 * again. The log is read outside the queue, which is enough: an id can be copied only after its event is in the log, and
 * of two commands with the same new id the store refuses the second, because each id is remembered as a request.
 */
class PushedOperation<Reply> implements Operation<Reply | Problem> {
  readonly kind: string;
  readonly requestKey: RequestKey | null;
  private takenId: string | null | undefined;

  constructor(
    private readonly operation: Operation<Reply>,
    private readonly acceptedId: string | undefined,
    private readonly findTakenId: () => Promise<string | null>,
  ) {
    this.kind = operation.kind;
    this.requestKey = operation.requestKey;
  }

  attempt(view: DecisionView): Attempt<Reply | Problem> | NeedsFetch {
    const { takenId } = this;
    if (takenId === undefined) return { needs: () => this.readTakenId() };
    if (takenId === null) return this.withKeyOfAcceptedId(this.operation.attempt(view));
    const detail = `The log already has a different event with the id ${takenId}. Send the command again without its field "offline": it is then decided as a new command.`;
    return new TransactionBuilder(view).answer(this.requestKey, problem('IDEMPOTENCY_CONFLICT', detail));
  }

  /**
   * An approval may be pushed with two event ids. The request is then remembered under the second one
   * (`accepted_event_id`) too, for as long as under the first.
   */
  private withKeyOfAcceptedId(attempt: Attempt<Reply> | NeedsFetch): Attempt<Reply> | NeedsFetch {
    const { acceptedId } = this;
    if (acceptedId === undefined || 'needs' in attempt) return attempt;
    const { transaction } = attempt;
    const acceptedIdRequests = transaction.requests.map((request) => ({
      ...request,
      key: keyOfEvent(acceptedId),
    }));
    return {
      ...attempt,
      transaction: { ...transaction, requests: [...transaction.requests, ...acceptedIdRequests] },
    };
  }

  private async readTakenId(): Promise<void> {
    this.takenId = await this.findTakenId();
  }

  shouldRepeat(...args: Parameters<NonNullable<Operation<Reply>['shouldRepeat']>>): boolean {
    return this.operation.shouldRepeat?.(...args) ?? false;
  }

  withdraw(): void {
    this.operation.withdraw?.();
  }

  replay(...args: Parameters<NonNullable<Operation<Reply>['replay']>>): Reply {
    // An operation without `replay` gives undefined, which the queue reports as a bug.
    return this.operation.replay?.(...args) as Reply;
  }
}

interface SearchedLog {
  readonly history: EventHistory;
  readonly key: ProjectKey;
  /** The subject of the pushed event. */
  readonly subject: string;
}

/** Adds the check of the event ids to an operation that was pushed with such ids. Returns any other operation unchanged. */
export function checkPushedIds<Reply>(
  operation: Operation<Reply>,
  pushed: PushedEvent | undefined,
  searched: SearchedLog,
): Operation<Reply | Problem> {
  if (pushed?.event_id === undefined) return operation;
  const { event_id, accepted_event_id } = pushed;
  const ids = accepted_event_id === undefined ? [event_id] : [event_id, accepted_event_id];
  return new PushedOperation(operation, accepted_event_id, () => findTakenId(searched, ids));
}

/** A coordinator assigns an id whose time precedes the event by less than this. */
const ID_LEAD_MS = 1000;

/**
 * The first of these ids that an event of the log has; null if none. Reads the events of the subject, and the events
 * from the time in the id: a coordinator derives ids from its clock. Ids that were pushed for other subjects are found
 * by their request keys.
 */
async function findTakenId(
  { history, key, subject }: SearchedLog,
  eventIds: readonly string[],
): Promise<string | null> {
  let takenId: string | null = null;
  const visit = ({ event_id }: { event_id: string }): boolean => {
    if (eventIds.includes(event_id)) takenId = event_id;
    return takenId === null;
  };
  await history.forEach(key, { subject }, visit);
  for (const eventId of eventIds) {
    if (takenId === null) await history.forEach(key, timeRangeOf(eventId), visit);
  }
  return takenId;
}

/** The first 48 bits of a UUID of version 7 are milliseconds. */
function timeRangeOf(eventId: string): { since: string; until: string } {
  const atMs = Number.parseInt(eventId.slice(0, 8) + eventId.slice(9, 13), 16);
  const timeOf = (ms: number): string => new Date(Math.min(ms, TIME_MS_MAX)).toISOString();
  return { since: timeOf(atMs), until: timeOf(atMs + ID_LEAD_MS) };
}
/** The last time with a year of four digits. */
const TIME_MS_MAX = msOf('9999-12-31T23:59:59.999Z');
