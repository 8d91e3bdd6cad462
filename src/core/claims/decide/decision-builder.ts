import type { ClaimEventPayloads } from '../../events/claim-payload-schemas.js';
import { type EventDraft, isoTime } from '../../events/envelope.js';
import { subjectKeys } from '../../subject.js';
import { type ClaimEventKind, claimEventType } from '../claim-event-kinds.js';
import type { Decision, DecisionCode, DecisionContext, DecisionDetails, PastGrant } from '../commands.js';
import { evolve } from '../evolve.js';
import type { Head } from '../head.js';
import { canTakeOver, failureHoldText, lapsesAtMs } from '../lease.js';

/**
 * The agent, session, role and generation that an event is recorded under: usually the holder, for an operator command its
 * sender.
 */
export type EventAttribution = Omit<PastGrant, 'request_id' | 'claimed_at_ms'> &
  Partial<Pick<PastGrant, 'request_id'>>;

/** Collects the events of one decision in order and folds each into the head. */
export class DecisionBuilder {
  readonly events: EventDraft[] = [];
  readonly at_ms: number;
  head: Head;
  /** Set if an expiry is emitted: the transaction must not commit before the store's clock has reached this time. */
  private expiredFromMs: number | null = null;

  constructor(
    private readonly initialHead: Head,
    context: DecisionContext,
  ) {
    this.head = initialHead;
    this.at_ms = Math.max(context.now_ms, initialHead.last_at_ms);
    this.emitExpiry(context);
  }

  /**
   * Records an expiry before any event that follows it. Every command then leaves the same history and the same head,
   * whether or not the sweeper ran first.
   */
  private emitExpiry(context: DecisionContext): void {
    const { claim } = this.head;
    if (claim === null || claim.state === 'EXPIRED' || !canTakeOver(this.head, context.now_ms, context.rules))
      return;
    const lapsedAtMs = lapsesAtMs(claim, context.rules);
    this.expiredFromMs = lapsedAtMs + context.rules.skew_margin_ms;
    this.emit('lost', holderAttribution(this.head), {
      cause: 'EXPIRED',
      disposition: 'eligible',
      expired_at: isoTime(lapsedAtMs),
    });
    this.emitFailureHold(context);
  }

  /** Holds the subject for a person once its failures reach `max_attempts`. */
  emitFailureHold(context: DecisionContext): void {
    const { head } = this;
    if (head.hold !== null || head.failures < context.rules.max_attempts) return;
    this.emit('held', operatorAttribution(head, 'genesis'), {
      reason: failureHoldText(head.failures, head.last_error),
      by: 'genesis',
    });
  }

  emit<Kind extends ClaimEventKind>(
    kind: Kind,
    attribution: EventAttribution,
    payload: ClaimEventPayloads[Kind],
  ): this {
    const event = draftClaimEvent(this.head, kind, attribution, payload, this.at_ms);
    event.seq = this.head.seq + 1;
    this.events.push(event);
    this.head = evolve(this.head, event);
    return this;
  }

  build(
    code: DecisionCode,
    details: DecisionDetails = {},
    bounds: Partial<Pick<Decision, 'not_before_ms' | 'not_after_ms'>> = {},
  ): Decision {
    return {
      ...unchangedDecision(this.initialHead, code, true, details),
      next: this.head,
      events: this.events,
      not_before_ms: bounds.not_before_ms ?? this.expiredFromMs,
      not_after_ms: bounds.not_after_ms ?? null,
    };
  }
}

/** A decision that changes no head. */
export function unchangedDecision(
  head: Head,
  code: DecisionCode,
  ok: boolean,
  details: DecisionDetails = {},
  looseEvents: readonly EventDraft[] = [],
): Decision {
  return {
    ok,
    code,
    head,
    next: head,
    events: [],
    loose_events: looseEvents,
    not_before_ms: null,
    not_after_ms: null,
    details,
  };
}

/** A refusal: the head is unchanged and part of the reply. */
export const refuse = (
  head: Head,
  code: DecisionCode,
  details: DecisionDetails = {},
  looseEvents: readonly EventDraft[] = [],
): Decision => unchangedDecision(head, code, false, details, looseEvents);

/**
 * Adds a time bound to a refusal for lateness: the refusal may commit only when the store's clock, too, has passed the end
 * of the lease. Otherwise the command is decided again.
 */
export function withExpiryBound(refusal: Decision, context: DecisionContext): Decision {
  const { claim } = refusal.head;
  if (claim === null || claim.state === 'EXPIRED') return refusal;
  return { ...refusal, not_before_ms: lapsesAtMs(claim, context.rules) };
}

/** A success without events: the command took effect earlier, or there is nothing to change. */
export const succeedUnchanged = (head: Head, code: DecisionCode, details: DecisionDetails = {}): Decision =>
  unchangedDecision(head, code, true, { ...details, replayed: true });

/**
 * Drafts an event without a seq, such as a refusal. Such an event changes no head; for an event that does, the caller adds
 * the seq.
 */
export function draftClaimEvent<Kind extends ClaimEventKind>(
  head: Head,
  kind: Kind,
  attribution: EventAttribution,
  payload: ClaimEventPayloads[Kind],
  nowMs: number,
): EventDraft {
  const event: EventDraft = {
    event_type: claimEventType(kind, head.subject),
    // The timestamps of a subject never decrease, even if the clock does.
    timestamp: isoTime(Math.max(nowMs, head.last_at_ms)),
    subject: head.subject,
    agent_id: attribution.agent_id,
    generation: attribution.generation,
    payload,
    ...subjectKeys(head.subject),
  };
  if (attribution.session_id !== '') event.session_id = attribution.session_id;
  if (attribution.agent_role !== null) event.agent_role = attribution.agent_role;
  if (attribution.request_id != null) event.request_id = attribution.request_id;
  return event;
}

/** The attribution of an event to the holder of the head's last claim, also where the holder did nothing. */
export function holderAttribution(head: Head): EventAttribution {
  const claim = head.claim;
  if (claim === null) throw new Error(`${head.subject} has no claim`);
  return {
    agent_id: claim.agent_id,
    session_id: claim.session_id,
    agent_role: claim.agent_role,
    generation: head.generation,
  };
}

/** The attribution of an event to the sender of an operator command. */
export const operatorAttribution = (head: Head, by: string): EventAttribution => ({
  agent_id: by,
  session_id: head.claim?.session_id ?? '',
  agent_role: null,
  generation: head.generation,
});
