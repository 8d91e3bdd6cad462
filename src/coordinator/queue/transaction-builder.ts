import { type ClaimEventKind, claimEventKindOf } from '../../core/claims/claim-event-kinds.js';
import type { Decision } from '../../core/claims/commands.js';
import { isSignOfLife } from '../../core/claims/decide/sign-of-life.js';
import { needsPermit, permitHeldUntilMs } from '../../core/claims/lease.js';
import { type EventDraft, isoTime, msOf, type NewEvent } from '../../core/events/envelope.js';
import { evolveRecord } from '../../core/record.js';
import { BASE_SUBJECT, subjectKindOf } from '../../core/subject.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import type {
  HeadCheck,
  HeadSwap,
  Permit,
  PermitLimit,
  RequestRecord,
  StoredHead,
  Transaction,
} from '../../stores/store.js';
import type { Caller } from '../authentication/caller.js';
import { contentEventId } from '../runtime/identity.js';
import type { DecisionView } from './decision-view.js';
import { attachOfflineTime, offlineIdOf, type PushedEvent } from './offline-event.js';
import type { Attempt, RequestKey } from './operation.js';
import { CLAIMS_SCOPE } from './permit-limits.js';
import { isRefusal, type RefusalRecorder } from './refusal-recorder.js';

const NONE: readonly never[] = [];

/** The list with one more item. Only the shared empty list is copied. */
function appended<T>(list: readonly T[], item: T): readonly T[] {
  if (list === NONE) return [item];
  (list as T[]).push(item);
  return list;
}

/** Combines decisions into one atomic transaction. */
export class TransactionBuilder {
  // Empty lists are shared: this runs for every command, and most have one swap and no loose events.
  private swaps: readonly HeadSwap[] = NONE;
  private checks: readonly HeadCheck[] = NONE;
  private looseEvents: readonly NewEvent[] = NONE;
  private permits: readonly Permit[] = NONE;
  private permitLimits: readonly PermitLimit[] = NONE;
  private notBeforeMs: number | null = null;
  private notAfterMs: number | null = null;
  private invalidatesDecisions = false;
  private hasEffect = false;

  constructor(
    readonly view: DecisionView,
    private readonly requestId?: string,
    /** Records refusals. Absent: they are not recorded. */
    private readonly recorder?: RefusalRecorder,
    /** What a pushed command states about its events in an offline log. Absent for other commands. */
    private readonly pushed?: PushedEvent,
  ) {}

  /** Adds a decision on a claim: its events, or the check that a refusal depends on, and its signature. */
  addDecision(decision: Decision, sent: CommandSignature = {}): this {
    const { head, events } = decision;
    if (sent.signature !== undefined) attachSignature(decision, sent);
    if (this.pushed !== undefined) attachOfflineTime(decision, this.pushed, this.view.now_ms);
    if (events.length === 0) this.addCheck(head.subject, head.seq);
    else this.addSwap(head.subject, head.seq, decision.next, events, isSignOfLife(decision, events[0]!));
    for (const draft of decision.loose_events) this.addLooseEventOf(draft);
    const { not_before_ms, not_after_ms } = decision;
    if (not_before_ms !== null) this.notBeforeMs = Math.max(this.notBeforeMs ?? 0, not_before_ms);
    if (not_after_ms !== null) this.notAfterMs = Math.min(this.notAfterMs ?? not_after_ms, not_after_ms);
    if (events.length > 0) {
      const rules = this.view.rulesOf(head.subject);
      this.setClaimPermit(head.subject, permitHeldUntilMs(decision.next, rules));
      const isPermitNeeded = needsPermit(decision, this.view.now_ms, rules);
      if (isPermitNeeded) for (const limit of this.view.tenantPermitLimits) this.addPermitLimit(limit);
    }
    // A reset reopens completed work, so that concurrent decisions on work that depends on it must be made again.
    if (decision.code === 'RESET') this.invalidateConcurrentDecisions();
    return this.moveBase(decision);
  }

  /**
   * Raises the version of the base when the result of an edge is accepted, which voids the evidence about all other
   * candidates. Only in projects in which a candidate was ever proposed: in the others there is no evidence.
   */
  private moveBase({ head, next, events }: Decision): this {
    if (next.phase !== 'COMPLETED' || head.phase === 'COMPLETED') return this;
    const [event] = events;
    if (event === undefined || subjectKindOf(next.subject) !== 'edge') return this;
    if (this.view.record(BASE_SUBJECT) === null) return this;
    return this.writeRecord(BASE_SUBJECT, 'BASE_MOVED', { edge: next.subject }, event.agent_id);
  }

  /** Records the refusals of a decision, and nothing else of it. */
  addRefusals({ loose_events }: Decision): this {
    for (const draft of loose_events) this.addRefusal(draft);
    return this;
  }

  private addLooseEventOf(draft: EventDraft): void {
    if (isRefusal(draft)) this.addRefusal(draft);
    else this.addDeduplicatedEvent(draft);
  }

  private addRefusal(refusal: EventDraft): void {
    const recorded = this.recorder?.record(this.view, refusal) ?? null;
    if (recorded === null) return;
    const { draft, event_id } = recorded;
    if (event_id === null) this.addDeduplicatedEvent(draft);
    else this.looseEvents = appended(this.looseEvents, this.stampEvent(draft, event_id));
  }

  addSwap(
    subject: string,
    expected_seq: number,
    head: StoredHead,
    drafts: readonly EventDraft[],
    /** True if the events are not what the request was for: then they do not contain its id. */
    isSideEffect = false,
  ): this {
    const { pushed } = this;
    for (const draft of drafts) {
      const eventId = pushed === undefined ? undefined : offlineIdOf(draft, drafts, pushed);
      this.stampEvent(draft, eventId, isSideEffect);
    }
    const events = drafts as readonly NewEvent[];
    this.swaps = appended(this.swaps, { subject, expected_seq, head, events });
    this.view.stageHead(head);
    return this;
  }

  /** Adds a check of a head. A single writer needs none: it decides and applies in one turn, so that nothing can change. */
  addCheck(subject: string, expected_seq: number): this {
    if (this.view.hasOtherWriters) this.checks = appended(this.checks, { subject, expected_seq });
    return this;
  }

  /** Checks a head that the decision depends on without changing it. */
  checkHead(subject: string): this {
    return this.addCheck(subject, this.view.head(subject).seq);
  }

  /** Like `checkHead`, for a record, which may not exist. */
  checkRecord(subject: string): this {
    return this.addCheck(subject, this.view.record(subject)?.seq ?? 0);
  }

  /** Adds a note or a parked result. A repeated one is written once, because its id derives from its content. */
  private addDeduplicatedEvent(draft: EventDraft): this {
    const { event_type, subject = '', generation = 0, agent_id, payload } = draft;
    const content = payload.result_sha256 ?? payload.text ?? '';
    const sessionId = draft.session_id ?? '';
    const eventId = contentEventId([
      event_type,
      this.view.key.project_id,
      subject,
      this.pushed?.generation ?? generation,
      agent_id,
      sessionId,
      String(content),
    ]);
    this.looseEvents = appended(this.looseEvents, this.stampEvent(draft, eventId));
    return this;
  }

  /** Adds an event that changes no head but takes effect. */
  addLooseEvent(draft: EventDraft, eventId?: string): this {
    this.looseEvents = appended(this.looseEvents, this.stampEvent(draft, eventId));
    return this.markEffective();
  }

  /** Marks the operation as successful: its request is remembered even if no head moves. */
  markEffective(): this {
    this.hasEffect = true;
    return this;
  }

  /** Opens the session with its first action, or checks that it is unchanged. */
  openOrCheckSession(session_id: string, agent_id: string, { principal, user_id }: Caller): this {
    const { subject, record: existing } = this.view.lookUpSession(session_id);
    if (existing !== null) return this.addCheck(subject, existing.seq);
    return this.openSession({ session_id, agent_id, principal, user_id, public_key: null });
  }

  openSession({ session_id, agent_id, principal, user_id, public_key }: SessionOpening): this {
    const { subject } = this.view.lookUpSession(session_id);
    const created_at = isoTime(this.view.now_ms);
    const publicKeyField = public_key === null ? {} : { public_key };
    const draft: EventDraft = {
      event_type: 'SESSION_OPENED',
      timestamp: created_at,
      subject,
      seq: 1,
      agent_id,
      session_id,
      payload: { principal, record: { state: 'open', user_id, principal, created_at, ...publicKeyField } },
    };
    return this.addSwap(subject, 0, evolveRecord(null, draft), [draft]);
  }

  /** Gives a record a new value, in the name of `by`. */
  writeRecord(subject: string, event_type: string, record: object, by: string): this {
    return this.putRecord(subject, [draftEvent(this.view, event_type, by, { by, record })]);
  }

  /** Writes a record in one or more events; the last one carries its new value. */
  putRecord(subject: string, drafts: readonly EventDraft[]): this {
    const before = this.view.record(subject);
    const seq = before?.seq ?? 0;
    // A subject's timestamps never decrease, even if the clock steps back.
    const fromMs = before?.last_at_ms ?? 0;
    const events = drafts.map((draft, index) => ({
      ...draft,
      timestamp: isoTime(Math.max(msOf(draft.timestamp), fromMs)),
      subject,
      seq: seq + 1 + index,
    }));
    const head = events.reduce(evolveRecord, before);
    return head === null ? this : this.addSwap(subject, seq, head, events);
  }

  private setClaimPermit(subject: string, until_ms: number | null): void {
    const permit: Permit = { scope: CLAIMS_SCOPE, member: subject, until_ms, on_head: true };
    this.permits = appended(this.permits, permit);
  }

  setPermit(scope: string, member: string, until_ms: number | null): this {
    this.permits = appended(this.permits, { scope, member, until_ms });
    return this;
  }

  addPermitLimit(limit: PermitLimit): this {
    const hasLimitOfScope = this.permitLimits.some(({ scope }) => scope === limit.scope);
    if (!hasLimitOfScope) this.permitLimits = appended(this.permitLimits, limit);
    return this;
  }

  invalidateConcurrentDecisions(): this {
    this.invalidatesDecisions = true;
    return this;
  }

  /** An attempt with this reply. If the request is remembered (see `build`), a repeat gets the same reply. */
  answer<Reply>(requestKey: RequestKey | null, reply: Reply): Attempt<Reply> {
    return { transaction: this.build(requestKey, reply), reply };
  }

  /** Builds the transaction. Its request is remembered only if the operation had an effect. */
  build(requestKey: RequestKey | null, reply?: unknown): Transaction {
    const keep = this.hasEffect || this.swaps.length > 0;
    const { tenant_id, project_id } = this.view.key;
    const requests: RequestRecord[] =
      requestKey === null ? [] : [{ key: requestKey.key, digest: requestKey.digest, keep, reply }];
    return {
      tenant_id,
      project_id,
      swaps: this.swaps,
      checks: this.buildChecks(),
      rules_seq: this.view.rules_seq,
      changes_rules: this.invalidatesDecisions,
      requests,
      loose_events: this.looseEvents,
      permits: this.permits,
      permit_limits: this.permitLimits,
      not_before_ms: this.notBeforeMs,
      not_after_ms: this.notAfterMs,
    };
  }

  /** The heads this transaction depends on without changing them: explicit checks, and uncommitted heads that were read. */
  private buildChecks(): readonly HeadCheck[] {
    for (const subject of this.view.readSet) this.addCheck(subject, this.view.peekHead(subject).seq);
    if (this.checks.length === 0) return NONE;
    const bySubject = new Map(this.checks.map((check) => [check.subject, check]));
    for (const { subject } of this.swaps) bySubject.delete(subject);
    return [...bySubject.values()];
  }

  private stampEvent(draft: EventDraft, eventId?: string, isSideEffect = false): NewEvent {
    const event = this.view.stampEvent(draft, eventId);
    if (this.requestId !== undefined && event.request_id === undefined && !isSideEffect)
      event.request_id = this.requestId;
    return event;
  }
}

/** Kinds of events that a session states itself, and so signs. It does not sign expiries and holds recorded with them. */
const SIGNED_EVENT_KINDS: ReadonlySet<ClaimEventKind | undefined> = new Set<ClaimEventKind>([
  'granted',
  'renewed',
  'released',
  'suspended',
  'resumed',
  'accepted',
  'escalated',
  'result_refused',
  'noted',
]);

/** The signature of a command, and the signed text. With both, signatures can be verified from the log alone. */
interface CommandSignature {
  readonly signature?: string | undefined;
  readonly signed_text?: string | undefined;
}

function attachSignature(decision: Decision, { signature, signed_text }: CommandSignature): void {
  for (const draft of [...decision.events, ...decision.loose_events]) {
    if (isSignOfLife(decision, draft)) continue;
    if (SIGNED_EVENT_KINDS.has(claimEventKindOf(draft.event_type)))
      draft.payload = { ...draft.payload, ...withoutUndefined({ signature, signed_text }) };
  }
}

interface SessionOpening {
  readonly session_id: string;
  readonly agent_id: string;
  readonly principal: string;
  readonly user_id: string | null;
  readonly public_key: string | null;
}

/** A draft of an event with the current time. Undefined fields of the payload are omitted. */
export const draftEvent = (
  view: DecisionView,
  event_type: string,
  agent_id: string,
  payload: Readonly<Record<string, unknown>>,
): EventDraft => ({
  event_type,
  timestamp: isoTime(view.now_ms),
  agent_id,
  payload: withoutUndefined(payload),
});
