import type { EventEnvelope, NewEvent } from '../core/events/envelope.js';
import { type KeptRequest, RequestMemory } from './requests.js';
import type { TenantSlots } from './slots.js';
import type { FoldHead, Outcome, ProjectKey, Slot, StoredHead, Unit } from './store.js';
import { SubjectOrder } from './subject-order.js';
import { assertWellFormed } from './well-formed.js';

/** What a log must keep beside a unit's events, so that the ledger can be rebuilt. */
export interface UnitRecord {
  /** The value after the unit, where the unit changed it. */
  readonly rules_seq?: number;
  readonly slots?: readonly Slot[];
  readonly requests?: readonly LoggedRequest[];
}

export interface LoggedRequest {
  readonly key: string;
  readonly digest: string;
  readonly reply?: unknown;
}

export interface Applied {
  readonly outcome: Outcome;
  /** To be appended, in order; the first of them at `first_position`. */
  readonly events: readonly NewEvent[];
  readonly first_position: number;
  /** Null: the unit left nothing to write, not even without events. */
  readonly record: UnitRecord | null;
}

/**
 * A ledger in parts, each to be read once. The parts are live: commits made while they are read may or may not show,
 * so a snapshot stands at `position` but needs the log up to the ledger's position when the reading ended;
 * `restore` of the units after `position` then brings every part to the same place.
 */
export interface LedgerSnapshot {
  readonly position: number;
  readonly rules_seq: number;
  readonly heads: Iterable<StoredHead>;
  readonly requests: Iterable<KeptRequest>;
  readonly note_ids: Iterable<string>;
  readonly slots: Iterable<Slot>;
}

/** One project's state in memory: what a store that keeps a log decides units on. */
export class ProjectLedger {
  /** The position of the last event. */
  position = 0;
  rules_seq = 0;
  /** Whether anything was ever written; a project of which nothing was does not exist. */
  written = false;
  private readonly head_of = new Map<string, StoredHead>();
  private readonly order = new SubjectOrder();
  private readonly requests = new RequestMemory();
  private readonly note_ids = new Set<string>();

  constructor(
    readonly key: ProjectKey,
    private readonly slots: TenantSlots,
  ) {}

  head(subject: string): StoredHead | null {
    return this.head_of.get(subject) ?? null;
  }

  get head_count(): number {
    return this.head_of.size;
  }

  /** In any order. */
  heads(): Iterable<StoredHead> {
    return this.head_of.values();
  }

  /** In the order of their subjects. */
  headsPage(after: string | null, limit: number): StoredHead[] {
    return this.order.page(after, limit).map((subject) => this.head_of.get(subject) as StoredHead);
  }

  /** Decides one unit. When it is committed, the state has moved; otherwise nothing has. */
  apply(unit: Unit, now_ms: number): Applied {
    assertWellFormed(unit);
    const refusal = this.refusal(unit, now_ms);
    if (refusal === null) return this.take(unit, now_ms);
    return { outcome: refusal, events: NO_EVENTS, first_position: this.position + 1, record: null };
  }

  /**
   * Recovery: takes in a unit that the log holds. What the state has seen already, because a snapshot was taken
   * while commits went on, is passed over.
   */
  restore(events: readonly EventEnvelope[], record: UnitRecord, fold: FoldHead, now_ms: number): void {
    for (const event of events) {
      if (event.position !== this.position + 1) {
        throw new Error(`The log goes on with position ${event.position} after position ${this.position}.`);
      }
      this.position = event.position;
      if (event.seq === undefined) this.note_ids.add(event.event_id);
      else this.restoreHead(event, fold);
    }
    if (record.rules_seq !== undefined) this.rules_seq = record.rules_seq;
    this.takeSlots(record.slots ?? [], now_ms);
    this.remember(
      record.requests ?? [],
      events.map((event) => event.position),
      now_ms,
    );
    this.written = true;
  }

  snapshot(): LedgerSnapshot {
    return {
      position: this.position,
      rules_seq: this.rules_seq,
      heads: this.heads(),
      requests: this.requests.entries(),
      note_ids: this.note_ids.values(),
      slots: this.slots.entries(this.key.project_id),
    };
  }

  /** Reads a snapshot into a fresh ledger, part after part in the order of `LedgerSnapshot`. */
  static load(key: ProjectKey, slots: TenantSlots, snapshot: LedgerSnapshot): ProjectLedger {
    const ledger = new ProjectLedger(key, slots);
    ledger.position = snapshot.position;
    ledger.rules_seq = snapshot.rules_seq;
    for (const head of snapshot.heads) ledger.setHead(head, true);
    for (const request of snapshot.requests) ledger.requests.remember(request);
    for (const id of snapshot.note_ids) ledger.note_ids.add(id);
    for (const slot of snapshot.slots) slots.set(key.project_id, slot);
    ledger.written = true;
    return ledger;
  }

  /** In the order in which a store looks. */
  private refusal(unit: Unit, now_ms: number): Outcome | null {
    for (const { key } of unit.requests) {
      const known = this.requests.get(key);
      if (known !== undefined) return { kind: 'replay', request: known, now_ms };
    }
    if (this.hasMoved(unit)) return this.conflict(unit, now_ms);
    if (unit.not_before_ms !== null && now_ms < unit.not_before_ms) return { kind: 'early', now_ms };
    if (unit.not_after_ms !== null && now_ms >= unit.not_after_ms) return { kind: 'late', now_ms };
    const scope = this.slots.fullScope(this.key.project_id, unit.slots, unit.rooms, now_ms);
    return scope === null ? null : { kind: 'full', scope, now_ms };
  }

  private hasMoved(unit: Unit): boolean {
    if (unit.rules_seq !== null && unit.rules_seq !== this.rules_seq) return true;
    for (const { subject, expected_seq } of unit.swaps) if (this.seq(subject) !== expected_seq) return true;
    for (const { subject, expected_seq } of unit.checks) if (this.seq(subject) !== expected_seq) return true;
    return false;
  }

  private seq(subject: string): number {
    return this.head_of.get(subject)?.seq ?? 0;
  }

  private conflict(unit: Unit, now_ms: number): Outcome {
    const heads = [...unit.swaps, ...unit.checks].map(({ subject }) => ({
      subject,
      head: this.head(subject),
    }));
    return { kind: 'conflict', heads, rules_seq: this.rules_seq, now_ms };
  }

  private take(unit: Unit, now_ms: number): Applied {
    const first_position = this.position + 1;
    for (const { head, expected_seq } of unit.swaps) this.setHead(head, expected_seq === 0);
    const { events, positions } = this.place(unit);
    if (unit.changes_rules) this.rules_seq += 1;
    this.takeSlots(unit.slots, now_ms);
    const record = this.recordOf(unit, events.length);
    if (record?.requests !== undefined) {
      const taken = events.length === positions.length ? (positions as number[]) : positionsTaken(positions);
      for (const { key, digest, reply } of record.requests) {
        this.requests.add({ key, digest, reply, positions: taken, at_ms: now_ms });
      }
    }
    if (record !== null) this.written = true;
    const outcome: Outcome = { kind: 'committed', positions, rules_seq: this.rules_seq, now_ms };
    return { outcome, events, first_position, record };
  }

  /** Gives each event its position. Most units are one swap of one event, and need no lists of their own. */
  private place(unit: Unit): { events: readonly NewEvent[]; positions: (number | null)[] } {
    const only = unit.swaps.length === 1 && unit.notes.length === 0 ? unit.swaps[0]?.events : undefined;
    if (only?.length === 1) return { events: only, positions: [++this.position] };
    const events = unit.swaps.flatMap((swap) => swap.events);
    const positions: (number | null)[] = events.map(() => ++this.position);
    for (const note of unit.notes) {
      const isNew = !this.note_ids.has(note.event_id);
      positions.push(isNew ? ++this.position : null);
      if (!isNew) continue;
      this.note_ids.add(note.event_id);
      events.push(note);
    }
    return { events, positions };
  }

  private recordOf(unit: Unit, eventCount: number): UnitRecord | null {
    const kept = unit.requests.every((request) => request.keep)
      ? unit.requests
      : unit.requests.filter((request) => request.keep);
    if (eventCount + unit.slots.length + kept.length === 0 && !unit.changes_rules) return null;
    const record: { rules_seq?: number; slots?: readonly Slot[]; requests?: readonly LoggedRequest[] } = {};
    if (unit.changes_rules) record.rules_seq = this.rules_seq;
    if (unit.slots.length > 0) record.slots = unit.slots;
    if (kept.length > 0) record.requests = kept;
    return record;
  }

  private takeSlots(slots: readonly Slot[], now_ms: number): void {
    if (slots.length === 0) return;
    this.slots.advanceTo(now_ms);
    for (const slot of slots) this.slots.set(this.key.project_id, slot);
  }

  private remember(requests: readonly LoggedRequest[], positions: readonly number[], at_ms: number): void {
    for (const { key, digest, reply } of requests) {
      this.requests.remember({ key, digest, reply, positions, at_ms });
    }
  }

  private setHead(head: StoredHead, isNew: boolean): void {
    if (isNew) this.order.add(head.subject);
    this.head_of.set(head.subject, head);
  }

  private restoreHead(event: EventEnvelope, fold: FoldHead): void {
    const before = this.head(event.subject as string);
    const seq = event.seq as number;
    if (before !== null && before.seq >= seq) return;
    const head = fold(before, event);
    if (head.seq !== seq) {
      throw new Error(`Event ${seq} of ${event.subject} follows event ${head.seq - 1}: events are missing.`);
    }
    this.setHead(head, before === null);
  }
}

const NO_EVENTS: readonly NewEvent[] = [];

const positionsTaken = (positions: readonly (number | null)[]): number[] =>
  positions.filter((position) => position !== null);
