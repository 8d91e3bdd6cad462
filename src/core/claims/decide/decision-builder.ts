import { type EventDraft, isoTime } from '../../events/envelope.js';
import { subjectKeys } from '../../subject.js';
import { type ClaimEventKind, claimEventType } from '../claim-event-kinds.js';
import type { Decision, DecisionCode, DecisionContext, DecisionDetails } from '../commands.js';
import { evolve } from '../evolve.js';
import type { Head } from '../head.js';
import { canTakeOver, lapsesAtMs, poisonReason } from '../lease.js';
import type { ClaimEventPayloads } from '../payloads.js';

/** The agent and the generation that an event refers to. */
export interface EventActor {
  readonly agent_id: string;
  readonly session_id: string;
  readonly agent_role: string | null;
  readonly generation: number;
  readonly request_id?: string | null;
}

/** Collects the events of one decision in order and folds each into the head. */
export class DecisionBuilder {
  readonly events: EventDraft[] = [];
  readonly at_ms: number;
  head: Head;
  /** Commit bound of an emitted expiry: whichever command emits it, the store's clock must have reached it. */
  private expiredFromMs: number | null = null;

  constructor(
    private readonly initialHead: Head,
    ctx: DecisionContext,
  ) {
    this.head = initialHead;
    // The timestamps of a subject never decrease, even if the clock does.
    this.at_ms = Math.max(ctx.now_ms, initialHead.last_at_ms);
    this.emitExpiry(ctx);
  }

  /**
   * Records an expiry before any event that follows it. Every command then leaves the same history and the same head,
   * whether or not the sweeper ran first.
   */
  private emitExpiry(ctx: DecisionContext): void {
    const { claim } = this.head;
    if (claim === null || claim.state === 'EXPIRED' || !canTakeOver(this.head, ctx.now_ms, ctx.rules)) return;
    const lapsesMs = lapsesAtMs(claim, ctx.rules);
    this.expiredFromMs = lapsesMs + ctx.rules.skew_margin_ms;
    this.emit('lost', holderActor(this.head), {
      cause: 'EXPIRED',
      disposition: 'eligible',
      expired_at: isoTime(lapsesMs),
    });
    this.emitPoisonHold(ctx);
  }

  /** Holds the subject for a human once its failures reach `max_attempts`. */
  emitPoisonHold(ctx: DecisionContext): void {
    const { head } = this;
    if (head.hold !== null || head.failures < ctx.rules.max_attempts) return;
    this.emit('held', operatorActor(head, 'genesis'), {
      reason: poisonReason(head.failures, head.last_error),
      by: 'genesis',
    });
  }

  emit<F extends ClaimEventKind>(kind: F, actor: EventActor, payload: ClaimEventPayloads[F]): this {
    const event = draftEvent(this.head, kind, actor, payload, this.at_ms);
    event.seq = this.head.seq + 1;
    this.events.push(event);
    this.head = evolve(this.head, event);
    return this;
  }

  build(code: DecisionCode, details: DecisionDetails = {}, bounds: Partial<CommitBounds> = {}): Decision {
    return {
      ok: true,
      code,
      head: this.initialHead,
      next: this.head,
      events: this.events,
      loose_events: [],
      not_before_ms: bounds.not_before_ms ?? this.expiredFromMs,
      not_after_ms: bounds.not_after_ms ?? null,
      details,
    };
  }
}

interface CommitBounds {
  not_before_ms: number | null;
  not_after_ms: number | null;
}

/** A refusal: the head is unchanged and part of the reply. */
export function refuse(
  head: Head,
  code: DecisionCode,
  details: DecisionDetails = {},
  looseEvents: readonly EventDraft[] = [],
): Decision {
  return {
    ok: false,
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

/**
 * Adds commit bounds. A refusal that depends on time holds only if the store's clock agrees; if not, the command is
 * decided again.
 */
export const withCommitBounds = (decision: Decision, bounds: Partial<CommitBounds>): Decision => ({
  ...decision,
  not_before_ms: bounds.not_before_ms ?? decision.not_before_ms,
  not_after_ms: bounds.not_after_ms ?? decision.not_after_ms,
});

/** Bounds a refusal for lateness: the store's clock must also have passed the end of the lease. */
export function withExpiryBound(refusal: Decision, ctx: DecisionContext): Decision {
  const { claim } = refusal.head;
  if (claim === null || claim.state === 'EXPIRED') return refusal;
  return withCommitBounds(refusal, { not_before_ms: lapsesAtMs(claim, ctx.rules) });
}

/** A positive reply without events: the command took effect earlier. */
export function replay(head: Head, code: DecisionCode, details: DecisionDetails = {}): Decision {
  return { ...refuse(head, code, { ...details, replayed: true }), ok: true };
}

/** Drafts an event that moves no head, such as a refusal. */
export function draftLooseEvent<F extends ClaimEventKind>(
  head: Head,
  kind: F,
  actor: EventActor,
  payload: ClaimEventPayloads[F],
  ctx: DecisionContext,
): EventDraft {
  return draftEvent(head, kind, actor, payload, Math.max(ctx.now_ms, head.last_at_ms));
}

function draftEvent<F extends ClaimEventKind>(
  head: Head,
  kind: F,
  actor: EventActor,
  payload: ClaimEventPayloads[F],
  atMs: number,
): EventDraft {
  const event: EventDraft = {
    event_type: claimEventType(kind, head.subject),
    timestamp: isoTime(atMs),
    subject: head.subject,
    agent_id: actor.agent_id,
    generation: actor.generation,
    payload: payload as unknown as Readonly<Record<string, unknown>>,
  };
  const { task_id, feature_id, edge } = subjectKeys(head.subject);
  if (task_id !== undefined) event.task_id = task_id;
  if (feature_id !== undefined) event.feature_id = feature_id;
  if (edge !== undefined) event.edge = edge;
  if (actor.session_id !== '') event.session_id = actor.session_id;
  if (actor.agent_role !== null) event.agent_role = actor.agent_role;
  if (actor.request_id != null) event.request_id = actor.request_id;
  return event;
}

/** The holder of the head's last claim, as the actor of an event. */
export function holderActor(head: Head): EventActor {
  const claim = head.claim;
  if (claim === null) throw new Error(`${head.subject} has no claim to speak of`);
  return {
    agent_id: claim.agent_id,
    session_id: claim.session_id,
    agent_role: claim.agent_role,
    generation: head.generation,
  };
}

/** The sender of an operator command, as the actor of an event. */
export const operatorActor = (head: Head, by: string): EventActor => ({
  agent_id: by,
  session_id: head.claim?.session_id ?? '',
  agent_role: null,
  generation: head.generation,
});
