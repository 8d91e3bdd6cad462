import type { Decision } from '../core/claims/commands.js';
import { type Fact, factOf } from '../core/claims/facts.js';
import type { Head } from '../core/claims/head.js';
import { occupiedUntilMs } from '../core/claims/lease.js';
import { takesPlace } from '../core/claims/place.js';
import { type EventDraft, isoTime, msOf, type NewEvent } from '../core/events/envelope.js';
import type { RecordHead } from '../core/record.js';
import { evolveRecord } from '../core/record.js';
import { sessionSubject } from '../core/subject.js';
import type { Check, RequestRecord, Room, Slot, StoredHead, Swap, Unit } from '../stores/store.js';
import type { Caller } from './caller.js';
import type { Desk } from './desk.js';
import { newEventId, noteId } from './identity.js';
import { CLAIMS_SCOPE } from './rooms.js';

/** Puts decisions together into one unit: all of it happens, or nothing. */
export class UnitBuilder {
  private readonly swaps: Swap[] = [];
  private readonly checked: Check[] = [];
  private readonly notes: NewEvent[] = [];
  private readonly slots: Slot[] = [];
  private rooms: readonly Room[] = [];
  private not_before_ms: number | null = null;
  private not_after_ms: number | null = null;
  private changes_rules = false;
  private has_effect = false;

  constructor(
    private readonly desk: Desk,
    private readonly request_id: string | null = null,
  ) {}

  /** What was decided about a claim: its events, or the check that its refusal stands on, and who signed for it. */
  decided(decision: Decision, signature?: string): this {
    const { head, events } = decision;
    if (signature !== undefined) keepSignature(decision, signature);
    if (events.length === 0) this.check(head.subject, head.seq);
    else this.swap(head.subject, head.seq, decision.next, events);
    for (const draft of decision.notes) this.note(draft);
    if (decision.not_before_ms !== null) this.notBefore(decision.not_before_ms);
    if (decision.not_after_ms !== null) this.notAfter(decision.not_after_ms);
    if (events.length > 0) this.occupy(decision.next);
    if (events.length > 0 && takesPlace(decision, this.desk.now_ms, this.desk.rulesOf(head.subject)))
      this.roomInTenant();
    // Work that was complete no longer is: what waits for it was decided under other rules.
    if (decision.code === 'RESET') this.changingRules();
    return this;
  }

  swap(subject: string, expected_seq: number, head: StoredHead, drafts: readonly EventDraft[]): this {
    for (const draft of drafts) this.named(draft);
    this.swaps.push({ subject, expected_seq, head, events: drafts as readonly NewEvent[] });
    this.desk.overlay(head);
    return this;
  }

  check(subject: string, expected_seq: number): this {
    this.checked.push({ subject, expected_seq });
    return this;
  }

  /** A remark or a refusal: what is said twice is written once. */
  note(draft: EventDraft): this {
    const { event_type, subject = '', generation = 0, agent_id, payload } = draft;
    const what = payload.result_sha256 ?? payload.reason ?? payload.text ?? '';
    const session_id = draft.session_id ?? '';
    const event_id = noteId([
      event_type,
      this.desk.key.project_id,
      subject,
      generation,
      agent_id,
      session_id,
      String(what),
    ]);
    this.notes.push(this.named(draft, event_id));
    return this;
  }

  /** Something that was told, and took effect with that. */
  told(draft: EventDraft, event_id: string): this {
    this.notes.push(this.named(draft, event_id));
    return this.takingEffect();
  }

  /** It was not refused: its request is remembered, also where no head moves. */
  takingEffect(): this {
    this.has_effect = true;
    return this;
  }

  /** Opens the session with its first act, or makes sure that it is still what it was. */
  session(session_id: string, agent_id: string, caller: Caller, now_ms: number): this {
    const { subject, record: known } = this.desk.session(session_id);
    if (known !== null) return this.check(subject, known.seq);
    const { principal, user_id } = caller;
    const draft = sessionOpened({ session_id, agent_id, principal, user_id, public_key: null, now_ms });
    return this.swap(subject, 0, evolveRecord(null, draft), [draft]);
  }

  /** A record changes, in one event or several; the last one carries what it is from now on. */
  record(subject: string, before: RecordHead | null, drafts: readonly EventDraft[]): this {
    const seq = before?.seq ?? 0;
    // A subject's time never runs back, whatever the clock does.
    const from_ms = before?.last_at_ms ?? 0;
    const events = drafts.map((draft, index) => ({
      ...draft,
      timestamp: isoTime(Math.max(msOf(draft.timestamp), from_ms)),
      subject,
      seq: seq + 1 + index,
    }));
    const head = events.reduce(evolveRecord, before);
    return head === null ? this : this.swap(subject, seq, head, events);
  }

  slot(scope: string, member: string, until_ms: number | null): this {
    this.slots.push({ scope, member, until_ms });
    return this;
  }

  room(scope: string, max: number): this {
    this.rooms = [...this.rooms, { scope, max }];
    return this;
  }

  private roomInTenant(): this {
    const { tenantRooms } = this.desk;
    this.rooms = this.rooms.length === 0 ? tenantRooms : [...this.rooms, ...tenantRooms];
    return this;
  }

  changingRules(): this {
    this.changes_rules = true;
    return this;
  }

  /** `keep`: a known request answers for this unit, and an unknown one is known from now on. */
  build(request: { key: string; digest: string } | null, reply?: unknown): Unit {
    const keep = this.has_effect || this.swaps.length > 0;
    const { tenant_id, project_id } = this.desk.key;
    const requests: RequestRecord[] =
      request === null ? [] : [{ key: request.key, digest: request.digest, keep, reply }];
    return {
      tenant_id,
      project_id,
      swaps: this.swaps,
      checks: this.checks(),
      rules_seq: this.desk.rules_seq,
      changes_rules: this.changes_rules,
      requests,
      notes: this.notes,
      slots: this.slots,
      rooms: this.rooms,
      not_before_ms: this.not_before_ms,
      not_after_ms: this.not_after_ms,
    };
  }

  /** What the unit stands on without changing it: what it says, and whatever was only about to be when it was read. */
  private checks(): readonly Check[] {
    for (const subject of this.desk.stoodOn) this.check(subject, this.desk.glimpse(subject).seq);
    if (
      this.checked.length === 1 &&
      !this.swaps.some(({ subject }) => subject === this.checked[0]?.subject)
    ) {
      return this.checked;
    }
    if (this.checked.length === 0) return this.checked;
    const once = new Map(this.checked.map((check) => [check.subject, check]));
    for (const { subject } of this.swaps) once.delete(subject);
    return [...once.values()];
  }

  private occupy(head: Head): void {
    this.slot(CLAIMS_SCOPE, head.subject, occupiedUntilMs(head, this.desk.rulesOf(head.subject)));
  }

  private notBefore(at_ms: number): void {
    this.not_before_ms = Math.max(this.not_before_ms ?? 0, at_ms);
  }

  private notAfter(at_ms: number): void {
    this.not_after_ms = Math.min(this.not_after_ms ?? Number.POSITIVE_INFINITY, at_ms);
  }

  /** The draft becomes the event: it was made for this unit, and copying it would cost more than deciding it. */
  private named(draft: EventDraft, event_id?: string): NewEvent {
    const { tenant_id, project_id } = this.desk.key;
    const event = draft as NewEvent;
    event.event_id = event_id ?? newEventId(this.desk.environment, this.desk.now_ms);
    event.tenant_id = tenant_id;
    event.project_id = project_id;
    if (this.request_id !== null && event.request_id === undefined) event.request_id = this.request_id;
    return event;
  }
}

/** What the session itself tells. An expiry or a hold that is told on the way is not its word. */
const SIGNED_FACTS: ReadonlySet<Fact | undefined> = new Set<Fact>([
  'granted',
  'renewed',
  'released',
  'suspended',
  'resumed',
  'accepted',
  'escalated',
  'result_denied',
  'noted',
]);

function keepSignature({ events, notes }: Decision, signature: string): void {
  for (const draft of [...events, ...notes]) {
    if (SIGNED_FACTS.has(factOf(draft.event_type))) draft.payload = { ...draft.payload, signature };
  }
}

export interface SessionOpening {
  session_id: string;
  agent_id: string;
  principal: string;
  user_id: string | null;
  public_key: string | null;
  now_ms: number;
}

export function sessionOpened(opening: SessionOpening): EventDraft {
  const created_at = isoTime(opening.now_ms);
  return {
    event_type: 'SESSION_OPENED',
    timestamp: created_at,
    subject: sessionSubject(opening.session_id),
    seq: 1,
    agent_id: opening.agent_id,
    session_id: opening.session_id,
    payload: {
      principal: opening.principal,
      record: {
        state: 'open',
        user_id: opening.user_id,
        principal: opening.principal,
        created_at,
        ...(opening.public_key === null ? {} : { public_key: opening.public_key }),
      },
    },
  };
}
