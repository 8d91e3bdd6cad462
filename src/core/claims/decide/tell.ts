import { type EventDraft, isoTime } from '../../events/envelope.js';
import { subjectKeys } from '../../subject.js';
import type { Code, Context, Decision, DecisionDetails } from '../commands.js';
import { evolve } from '../evolve.js';
import { eventName, type Fact } from '../facts.js';
import type { Head } from '../head.js';
import { lapsesAtMs, poisonReason, takeable } from '../lease.js';
import type { Payloads } from '../payloads.js';

/** Who an event is about. */
export interface Actor {
  readonly agent_id: string;
  readonly session_id: string;
  readonly agent_role: string | null;
  readonly generation: number;
  readonly request_id?: string | null;
}

/** One decision in the telling: events in order, and the head as it stands after each. */
export class Telling {
  readonly events: EventDraft[] = [];
  readonly at_ms: number;
  head: Head;
  /** An expiry is told only once the store's clock has reached it, whichever command tells it. */
  private expired_from_ms: number | null = null;

  constructor(
    private readonly before: Head,
    ctx: Context,
  ) {
    this.head = before;
    // A subject's time never runs back, whatever the clock does.
    this.at_ms = Math.max(ctx.now_ms, before.last_at_ms);
    this.tellExpiry(ctx);
  }

  /**
   * What time has decided goes into the log before anything that follows it. So every command leaves
   * the same history and the same head whether or not the sweeper came by first.
   */
  private tellExpiry(ctx: Context): void {
    const { claim } = this.head;
    if (claim === null || claim.state === 'EXPIRED' || !takeable(this.head, ctx.now_ms, ctx.rules)) return;
    const lapses_ms = lapsesAtMs(claim, ctx.rules);
    this.expired_from_ms = lapses_ms + ctx.rules.skew_margin_ms;
    this.tell('lost', holder(this.head), {
      cause: 'EXPIRED',
      disposition: 'eligible',
      expired_at: isoTime(lapses_ms),
    });
    this.tellPoison(ctx);
  }

  /** One failure too many: from here on the subject waits for a human. */
  tellPoison(ctx: Context): void {
    const { head } = this;
    if (head.hold !== null || head.failures < ctx.rules.max_attempts) return;
    this.tell('held', operator(head, 'genesis'), {
      reason: poisonReason(head.failures, head.last_error),
      by: 'genesis',
    });
  }

  tell<F extends Fact>(fact: F, actor: Actor, payload: Payloads[F]): this {
    const event = draft(this.head, fact, actor, payload, this.at_ms);
    event.seq = this.head.seq + 1;
    this.events.push(event);
    this.head = evolve(this.head, event);
    return this;
  }

  done(code: Code, details: DecisionDetails = {}, bounds: Partial<Bounds> = {}): Decision {
    return {
      ok: true,
      code,
      head: this.before,
      next: this.head,
      events: this.events,
      notes: [],
      not_before_ms: bounds.not_before_ms ?? this.expired_from_ms,
      not_after_ms: bounds.not_after_ms ?? null,
      details,
    };
  }
}

interface Bounds {
  not_before_ms: number | null;
  not_after_ms: number | null;
}

/** A refusal: the head stays as it was, and the reply carries it. */
export function refuse(
  head: Head,
  code: Code,
  details: DecisionDetails = {},
  notes: readonly EventDraft[] = [],
): Decision {
  return {
    ok: false,
    code,
    head,
    next: head,
    events: [],
    notes,
    not_before_ms: null,
    not_after_ms: null,
    details,
  };
}

/** A refusal that time decides is true only while the store's clock agrees; else the command is decided again. */
export const whileTrue = (decision: Decision, bounds: Partial<Bounds>): Decision => ({
  ...decision,
  not_before_ms: bounds.not_before_ms ?? decision.not_before_ms,
  not_after_ms: bounds.not_after_ms ?? decision.not_after_ms,
});

/** The holder is too late: so the store's clock must say as well. */
export function tooLate(refusal: Decision, ctx: Context): Decision {
  const { claim } = refusal.head;
  if (claim === null || claim.state === 'EXPIRED') return refusal;
  return whileTrue(refusal, { not_before_ms: lapsesAtMs(claim, ctx.rules) });
}

/** An answer that is yes, and needs nothing to happen: it has happened before. */
export function replay(head: Head, code: Code, details: DecisionDetails = {}): Decision {
  return { ...refuse(head, code, { ...details, replayed: true }), ok: true };
}

/** An event that moves no head: what was refused, and to whom. */
export function note<F extends Fact>(
  head: Head,
  fact: F,
  actor: Actor,
  payload: Payloads[F],
  ctx: Context,
): EventDraft {
  return draft(head, fact, actor, payload, Math.max(ctx.now_ms, head.last_at_ms));
}

function draft<F extends Fact>(
  head: Head,
  fact: F,
  actor: Actor,
  payload: Payloads[F],
  at_ms: number,
): EventDraft {
  const event: EventDraft = {
    event_type: eventName(fact, head.subject),
    timestamp: isoTime(at_ms),
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

/** The holder of the head's last claim, as the actor of an event about it. */
export function holder(head: Head): Actor {
  const claim = head.claim;
  if (claim === null) throw new Error(`${head.subject} has no claim to speak of`);
  return {
    agent_id: claim.agent_id,
    session_id: claim.session_id,
    agent_role: claim.agent_role,
    generation: head.generation,
  };
}

/** A human's command over a subject, as the actor of the event. */
export const operator = (head: Head, by: string): Actor => ({
  agent_id: by,
  session_id: head.claim?.session_id ?? '',
  agent_role: null,
  generation: head.generation,
});
