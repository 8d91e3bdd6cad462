import { type ClaimEventKind, claimEventKindOf } from '../../../src/core/claims/claim-event-kinds.js';
import type { EventEnvelope } from '../../../src/core/events/envelope.js';
import {
  type HistoryOperation,
  type HistoryRequest,
  mayHaveHappened,
  type RecordedCall,
} from '../history.js';
import { type HistoryViolation, violation } from './violation.js';

const EVENT_KIND_OF_OPERATION: Readonly<Record<HistoryOperation, ClaimEventKind>> = {
  claim: 'granted',
  renew: 'renewed',
  release: 'released',
  submit: 'accepted',
};
const EFFECT_KINDS: ReadonlySet<ClaimEventKind | undefined> = new Set(Object.values(EVENT_KIND_OF_OPERATION));

/** Which call caused which event, and which call first confirmed it. */
export interface CallEffects {
  readonly violations: readonly HistoryViolation[];
  /** For an event: the first call that may have caused it. The event did not happen before that call was invoked. */
  readonly causedBy: ReadonlyMap<EventEnvelope, RecordedCall>;
  /** For an event: the first call that confirmed it. The event had happened when that call returned. */
  readonly acknowledgedBy: ReadonlyMap<EventEnvelope, RecordedCall>;
  readonly eventsByRequest: ReadonlyMap<string, readonly EventEnvelope[]>;
}

export function matchEffects(
  calls: readonly RecordedCall[],
  events: readonly EventEnvelope[],
  isDurable: boolean,
): CallEffects {
  const matcher = new EffectMatcher(calls, events);
  matcher.checkEffects();
  matcher.matchReplies(isDurable);
  return matcher;
}

class EffectMatcher implements CallEffects {
  readonly violations: HistoryViolation[] = [];
  readonly causedBy = new Map<EventEnvelope, RecordedCall>();
  readonly acknowledgedBy = new Map<EventEnvelope, RecordedCall>();
  readonly eventsByRequest = new Map<string, EventEnvelope[]>();
  private readonly callsByRequest = new Map<string, RecordedCall[]>();
  /** The last event of each kind for each generation. A generation has at most one grant, release and acceptance. */
  private readonly eventsByHandle = new Map<string, EventEnvelope>();

  constructor(calls: readonly RecordedCall[], events: readonly EventEnvelope[]) {
    for (const call of calls) addToList(this.callsByRequest, call.request.request_id, call);
    for (const event of events) {
      const eventKind = claimEventKindOf(event.event_type);
      if (eventKind === undefined || !EFFECT_KINDS.has(eventKind)) continue;
      addToList(this.eventsByRequest, event.request_id ?? '', event);
      this.eventsByHandle.set(`${eventKind} ${event.subject} ${event.generation}`, event);
    }
  }

  /** From the log to the calls: every effect was requested, was not denied to the client, and happened once. */
  checkEffects(): void {
    for (const [requestId, effects] of this.eventsByRequest) {
      const calls = this.callsByRequest.get(requestId) ?? [];
      const possibleCalls = calls.filter(mayHaveHappened);
      for (const effect of effects) {
        const [first] = possibleCalls;
        if (first !== undefined) this.causedBy.set(effect, first);
        if (calls[0] === undefined || !matchesRequest(effect, calls[0].request)) {
          this.reportViolation('UNREQUESTED', `${describeEvent(effect)} matches no request`, calls, [effect]);
        }
      }
      if (calls.length > 0 && possibleCalls.length === 0) {
        const names = effects.map(describeEvent).join(' and ');
        this.reportViolation(
          'DONE_DESPITE_REFUSAL',
          `the log has ${names}, but no call of its request can have caused it`,
          calls,
          effects,
        );
      }
      // A renewal takes effect on each arrival; any other request takes effect only once.
      const effectsMax = calls[0]?.request.operation === 'renew' ? Math.max(possibleCalls.length, 1) : 1;
      if (calls.length > 0 && effects.length > effectsMax) {
        this.reportViolation(
          'DOUBLED',
          `request ${requestId} took effect ${effects.length} times`,
          calls,
          effects,
        );
      }
    }
  }

  /** From the calls to the log: every confirmed effect is in the log, as it was reported. */
  matchReplies(isDurable: boolean): void {
    for (const calls of this.callsByRequest.values()) {
      const renewals = new Set(calls[0]?.request.operation === 'renew' ? this.effectsOf(calls[0]) : []);
      for (const call of calls) {
        if (call.outcome.kind !== 'ok') continue;
        const effect =
          call.request.operation === 'renew' ? takeMatchingRenewal(renewals, call) : this.effectFor(call);
        if (effect !== undefined) this.checkReply(call, effect);
        else if (isDurable) {
          this.reportViolation('LOST', `${call.request.operation} was confirmed but is not in the log`, [
            call,
          ]);
        }
      }
    }
  }

  private effectsOf({ request }: RecordedCall): readonly EventEnvelope[] {
    return this.eventsByRequest.get(request.request_id) ?? [];
  }

  /**
   * The event that a confirmed call must match. For a release or a submission it is the only event of this kind for the
   * generation, whichever request caused it; for a resumed claim it is the grant.
   */
  private effectFor({ request, outcome }: RecordedCall): EventEnvelope | undefined {
    if (outcome.kind === 'ok' && outcome.reply_fields.resumed)
      return this.eventsByHandle.get(`granted ${request.subject} ${outcome.reply_fields.generation}`);
    if (request.operation === 'claim') return this.eventsByRequest.get(request.request_id)?.[0];
    return this.eventsByHandle.get(
      `${EVENT_KIND_OF_OPERATION[request.operation]} ${request.subject} ${request.generation}`,
    );
  }

  private checkReply(call: RecordedCall, effect: EventEnvelope): void {
    const mismatch = differenceBetween(call, effect);
    if (mismatch !== null)
      this.reportViolation(
        'WRONG_REPLY',
        `${mismatch}; the log has ${describeEvent(effect)}`,
        [call],
        [effect],
      );
    const first = this.acknowledgedBy.get(effect);
    if (first === undefined || call.returned_ms < first.returned_ms) this.acknowledgedBy.set(effect, call);
  }

  private reportViolation(
    rule: HistoryViolation['rule'],
    message: string,
    calls: readonly RecordedCall[],
    events?: EventEnvelope[],
  ): void {
    this.violations.push(violation(rule, message, calls, events));
  }
}

/**
 * Each confirmed renewal has its own event, with the reported end of the lease. Two renewals of one request may report
 * the same end, since none shortens a lease. Then any of their events may belong to the call.
 */
function takeMatchingRenewal(
  remaining: Set<EventEnvelope>,
  { outcome }: RecordedCall,
): EventEnvelope | undefined {
  const expiresAt = outcome.kind === 'ok' ? outcome.reply_fields.expires_at : null;
  const [anyRenewal] = remaining;
  const renewal = [...remaining].find(({ payload }) => payload.expires_at === expiresAt) ?? anyRenewal;
  if (renewal !== undefined) remaining.delete(renewal);
  return renewal;
}

const matchesRequest = (event: EventEnvelope, request: HistoryRequest): boolean =>
  claimEventKindOf(event.event_type) === EVENT_KIND_OF_OPERATION[request.operation] &&
  event.subject === request.subject &&
  event.agent_id === request.agent_id &&
  event.session_id === request.session_id &&
  (request.generation === null || event.generation === request.generation) &&
  (request.sha256 === null || event.payload.result_sha256 === request.sha256);

function differenceBetween({ request, outcome }: RecordedCall, event: EventEnvelope): string | null {
  if (outcome.kind !== 'ok') return null;
  const { reply_fields } = outcome;
  if (event.session_id !== request.session_id) return `the reply went to session ${request.session_id}`;
  if (request.sha256 !== null && event.payload.result_sha256 !== request.sha256)
    return 'the request had another result';
  if (reply_fields.generation !== undefined && reply_fields.generation !== event.generation) {
    return `the reply names generation ${reply_fields.generation}`;
  }
  // A resumed claim may have been renewed since its grant.
  if (reply_fields.resumed) return null;
  if (reply_fields.expires_at !== undefined && reply_fields.expires_at !== event.payload.expires_at) {
    return `the reply says that the lease ends at ${reply_fields.expires_at}`;
  }
  return null;
}

export const describeEvent = ({ position, event_type, subject, generation }: EventEnvelope): string =>
  `${event_type} of ${subject} generation ${generation} at position ${position}`;

function addToList<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}
