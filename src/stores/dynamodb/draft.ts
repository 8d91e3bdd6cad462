import { msOf, type NewEvent } from '../../core/events/envelope.js';
import type { KeptRequest } from '../requests.js';
import type { Check, Outcome, Room, Slot, StoredHead, Swap, Unit } from '../store.js';
import { assertWellFormed } from '../well-formed.js';
import { type Known, memberName, type ProjectState } from './known.js';

/** A transaction of DynamoDB takes 100 items and 4 MB; a little is left for what every transaction writes. */
export const ITEMS_MAX = 100;
const BYTES_MAX = 3_500_000;
/** The project's row, the mark of the attempt, and the entry of a new project in its tenant's list. */
const ITEMS_ALWAYS = 3;
const ITEM_BYTES = 500;

/** What must be known or had before a unit can be decided. */
export type Need =
  | {
      readonly kind: 'read';
      readonly subjects: readonly string[];
      readonly requests: readonly string[];
      readonly members: readonly Slot[];
    }
  | { readonly kind: 'room'; readonly scope: string; readonly max: number; readonly want: number }
  /** What the draft holds must go first. */
  | { readonly kind: 'send' };

export interface HeadEntry {
  readonly assumed_seq: number;
  seq: number;
  /** Undefined: only its seq is assumed. */
  head: StoredHead | null | undefined;
  swapped: boolean;
}

export interface MemberEntry {
  readonly scope: string;
  readonly member: string;
  readonly assumed: 'absent' | 'live' | 'over' | 'present';
  until_ms: number | null;
}

export interface ShareEntry {
  delta: number;
  /** How many places must be free beforehand; null: no room was asked for. */
  need: number | null;
  max: number;
}

export interface PlacedEvent {
  readonly event: NewEvent;
  readonly position: number;
}

type Refused = Exclude<Outcome, { kind: 'committed' }>;

/** Units on their way into one transaction, each decided on what is known and on what those before it will do. */
export class Draft {
  readonly outcomes: Outcome[] = [];
  readonly heads = new Map<string, HeadEntry>();
  /** Null: it is only asked for. */
  readonly requests = new Map<string, KeptRequest | null>();
  readonly notes = new Set<string>();
  readonly members = new Map<string, MemberEntry>();
  readonly shares = new Map<string, ShareEntry>();
  readonly events: PlacedEvent[] = [];
  /** From then on the transaction must no longer happen. */
  not_after_ms = Number.POSITIVE_INFINITY;
  writes = false;
  private after: ProjectState;
  private bytes = 0;

  constructor(
    private readonly known: Known,
    readonly now_ms: number,
  ) {
    this.after = { ...known.project, version: known.project.version + 1, now_ms };
  }

  /** The project as the transaction leaves it. */
  get project(): ProjectState {
    return this.after;
  }

  /** How many items the transaction has so far. */
  get items(): number {
    const { heads, requests, notes, members, shares, events } = this;
    return (
      ITEMS_ALWAYS + heads.size + requests.size + notes.size + members.size + shares.size + events.length
    );
  }

  /** Decides a unit, and takes it in where it is not refused. */
  take(unit: Unit): Need | null {
    assertWellFormed(unit);
    const changes = this.changesOf(unit);
    const verdict = this.verdict(unit, changes);
    if (verdict === null) return this.accept(unit, changes);
    if (!isOutcome(verdict)) return verdict;
    this.outcomes.push(verdict);
    return null;
  }

  private verdict(unit: Unit, changes: ReadonlyMap<string, ScopeChange>): Refused | Need | null {
    for (const { key } of unit.requests) {
      const request = this.requests.get(key) ?? this.known.request(key, this.now_ms);
      if (request != null) return { kind: 'replay', request: rememberedOf(request), now_ms: this.now_ms };
    }
    if (this.hasMoved(unit)) return this.unknownOf(unit) ?? this.conflict(unit);
    const refused = this.untimely(unit) ?? this.noRoom(unit, changes);
    if (refused === null || !isOutcome(refused)) return refused;
    // What comes first in the order must be known not to apply before what comes later may be told.
    return this.unknownOf(unit) ?? refused;
  }

  private hasMoved(unit: Unit): boolean {
    if (unit.rules_seq !== null && unit.rules_seq !== this.after.rules_seq) return true;
    return [...unit.swaps, ...unit.checks].some(({ subject, expected_seq }) => {
      const seq = this.seqOf(subject);
      return seq !== undefined && seq !== expected_seq;
    });
  }

  private seqOf(subject: string): number | undefined {
    const entry = this.heads.get(subject);
    if (entry !== undefined) return entry.seq;
    const head = this.known.heads.get(subject);
    return head === null ? 0 : head?.seq;
  }

  private headOf(subject: string): StoredHead | null | undefined {
    const entry = this.heads.get(subject);
    return entry?.swapped ? entry.head : this.known.heads.get(subject);
  }

  private unknownOf(unit: Unit): Need | null {
    const subjects = [...unit.swaps, ...unit.checks]
      .map(({ subject }) => subject)
      .filter((subject) => this.headOf(subject) === undefined);
    const requests = unit.requests
      .map(({ key }) => key)
      .filter((key) => this.known.request(key, this.now_ms) === undefined && !this.requests.has(key));
    if (subjects.length + requests.length === 0) return null;
    return { kind: 'read', subjects, requests, members: [] };
  }

  private conflict(unit: Unit): Refused {
    const heads = [...unit.swaps, ...unit.checks].map(({ subject }) => ({
      subject,
      head: this.headOf(subject) ?? null,
    }));
    return { kind: 'conflict', heads, rules_seq: this.after.rules_seq, now_ms: this.now_ms };
  }

  private untimely({ not_before_ms, not_after_ms }: Unit): Refused | null {
    const { now_ms } = this;
    if (not_before_ms !== null && now_ms < not_before_ms) return { kind: 'early', now_ms };
    if (not_after_ms !== null && now_ms >= not_after_ms) return { kind: 'late', now_ms };
    return null;
  }

  private noRoom(unit: Unit, changes: ReadonlyMap<string, ScopeChange>): Refused | Need | null {
    for (const { scope, max } of unit.rooms) {
      const change = changes.get(scope);
      if (change === undefined || change.taken === 0) continue;
      const entry = this.shares.get(scope);
      // The condition that goes with a share can ask for one room only.
      if (entry !== undefined && entry.need !== null && entry.max !== max) return { kind: 'send' };
      const want = (entry?.delta ?? 0) + change.delta;
      const verdict = this.roomFor(scope, max, want);
      if (verdict !== null) return this.unknownMembers(change) ?? verdict;
    }
    return null;
  }

  private roomFor(scope: string, max: number, want: number): Refused | Need | null {
    const counted = this.known.counted.get(scope);
    if (counted?.max === max && this.now_ms < counted.until_ms) {
      return want > counted.spare ? { kind: 'full', scope, now_ms: this.now_ms } : null;
    }
    const share = this.known.shares.get(scope);
    if (share === undefined) return null;
    const fits = share !== null && want <= share.spare && share.room_max <= max;
    return fits ? null : { kind: 'room', scope, max, want };
  }

  /** Who was only guessed to be new may be there, and need no room. */
  private unknownMembers({ words }: ScopeChange): Need | null {
    const members = words
      .filter(({ name }) => !this.members.has(name) && !this.known.members.has(name))
      .map(({ slot }) => slot);
    return members.length === 0 ? null : { kind: 'read', subjects: [], requests: [], members };
  }

  /** What a unit's slots do in each scope. Of two words about one member the last stands. */
  private changesOf(unit: Unit): Map<string, ScopeChange> {
    const said = new Map(unit.slots.map((slot) => [memberName(slot.scope, slot.member), slot]));
    const changes = new Map<string, ScopeChange>();
    for (const [name, slot] of said) {
      const change = changes.get(slot.scope) ?? { words: [], delta: 0, taken: 0 };
      changes.set(slot.scope, change);
      const before = this.untilOf(name, slot, unit.rooms);
      const until_ms = slot.until_ms !== null && slot.until_ms > this.now_ms ? slot.until_ms : null;
      change.words.push({ name, slot, before, until_ms });
      change.delta += Number(until_ms !== null) - Number(before !== null);
      if (until_ms !== null && (before === null || before <= this.now_ms)) change.taken += 1;
    }
    return changes;
  }

  /** A guess where nothing is known: who asks for room is new, and everybody else is there. */
  private untilOf(name: string, { scope, until_ms }: Slot, rooms: readonly Room[]): number | null {
    const entry = this.members.get(name);
    if (entry !== undefined) return entry.until_ms;
    const known = this.known.members.get(name);
    if (known !== undefined) return known;
    const isNew = until_ms !== null && rooms.some((room) => room.scope === scope);
    return isNew ? null : Number.POSITIVE_INFINITY;
  }

  private accept(unit: Unit, changes: ReadonlyMap<string, ScopeChange>): Need | null {
    const notes = unit.notes.filter(
      (note, index) =>
        !this.known.notes.has(note.event_id) &&
        !this.notes.has(note.event_id) &&
        unit.notes.findIndex(({ event_id }) => event_id === note.event_id) === index,
    );
    const events = [...unit.swaps.flatMap((swap) => swap.events), ...notes];
    const kept = unit.requests.filter((request) => request.keep);
    const effects = events.length + unit.slots.length + kept.length + Number(unit.changes_rules);
    // A unit that leaves nothing behind needs no transaction: what it asks is answered by reading.
    if (effects === 0) return this.unknownOf(unit) ?? this.commit(unit.notes.map(() => null));
    if (!this.hasSpace(unit, events, notes.length)) return { kind: 'send' };
    this.writes = true;
    for (const check of unit.checks) this.check(check);
    for (const swap of unit.swaps) this.swap(swap);
    this.move(changes, unit.rooms);
    const positions = this.place(unit, new Set(notes));
    const taken = positions.filter((position) => position !== null);
    for (const { key, digest, keep, reply } of unit.requests) {
      this.requests.set(key, keep ? { key, digest, reply, positions: taken, at_ms: this.now_ms } : null);
    }
    if (unit.changes_rules) this.after = { ...this.after, rules_seq: this.after.rules_seq + 1 };
    this.not_after_ms = Math.min(this.not_after_ms, unit.not_after_ms ?? Number.POSITIVE_INFINITY);
    return this.commit(positions);
  }

  private commit(positions: readonly (number | null)[]): null {
    const { rules_seq } = this.after;
    this.outcomes.push({ kind: 'committed', positions, rules_seq, now_ms: this.now_ms });
    return null;
  }

  /** The first unit always has: alone it may be packed more tightly. */
  private hasSpace(unit: Unit, events: readonly NewEvent[], notes: number): boolean {
    const { swaps, checks, slots, requests } = unit;
    const scopes = new Set(slots.map(({ scope }) => scope)).size;
    const parts = swaps.length + checks.length + slots.length + requests.length + scopes + notes;
    const items = parts + events.length;
    const texts = [...events, ...swaps.map(({ head }) => head), requests];
    const bytes =
      items * ITEM_BYTES + texts.reduce((sum, text) => sum + JSON.stringify(text).length * 1.5, 0);
    const fits = this.items + items <= ITEMS_MAX && this.bytes + bytes <= BYTES_MAX;
    if (!fits && this.writes) return false;
    this.bytes += bytes;
    return true;
  }

  private check({ subject, expected_seq }: Check): void {
    if (this.heads.has(subject)) return;
    const head = this.known.heads.get(subject);
    this.heads.set(subject, { assumed_seq: expected_seq, seq: expected_seq, head, swapped: false });
  }

  private swap({ subject, expected_seq, head }: Swap): void {
    const assumed_seq = this.heads.get(subject)?.assumed_seq ?? expected_seq;
    this.heads.set(subject, { assumed_seq, seq: head.seq, head, swapped: true });
  }

  private move(changes: ReadonlyMap<string, ScopeChange>, rooms: readonly Room[]): void {
    for (const [scope, { words, delta, taken }] of changes) {
      for (const word of words) this.moveMember(word);
      const entry = this.shares.get(scope) ?? { delta: 0, need: null, max: 0 };
      entry.delta += delta;
      const room = taken > 0 ? rooms.find((asked) => asked.scope === scope) : undefined;
      if (room !== undefined) {
        entry.need = Math.max(entry.need ?? entry.delta, entry.delta);
        entry.max = room.max;
      }
      if (entry.delta !== 0 || entry.need !== null) this.shares.set(scope, entry);
    }
  }

  private moveMember({ name, slot, before, until_ms }: Word): void {
    const entry = this.members.get(name);
    if (entry !== undefined) {
      entry.until_ms = until_ms;
      return;
    }
    const { scope, member } = slot;
    this.members.set(name, { scope, member, assumed: assumptionOf(before, until_ms, this.now_ms), until_ms });
  }

  private place(unit: Unit, newNotes: ReadonlySet<NewEvent>): (number | null)[] {
    const positions: (number | null)[] = [];
    for (const { events } of unit.swaps) for (const event of events) positions.push(this.append(event));
    for (const note of unit.notes) {
      positions.push(newNotes.has(note) ? this.append(note) : null);
      if (newNotes.has(note)) this.notes.add(note.event_id);
    }
    return positions;
  }

  private append(event: NewEvent): number {
    const { position: last, time_high_ms, late_max_ms } = this.after;
    const position = last + 1;
    const at_ms = msOf(event.timestamp);
    const high_ms = Number.isNaN(at_ms) ? time_high_ms : Math.max(time_high_ms, at_ms);
    const late_ms = Number.isNaN(at_ms) ? 0 : high_ms - at_ms;
    this.after = {
      ...this.after,
      position,
      time_high_ms: high_ms,
      late_max_ms: Math.max(late_max_ms, late_ms),
    };
    this.events.push({ event, position });
    return position;
  }
}

interface Word {
  readonly name: string;
  readonly slot: Slot;
  readonly before: number | null;
  readonly until_ms: number | null;
}

interface ScopeChange {
  readonly words: Word[];
  /** How many more places are registered afterwards. */
  delta: number;
  /** How many members become live. */
  taken: number;
}

function assumptionOf(
  before: number | null,
  until_ms: number | null,
  now_ms: number,
): MemberEntry['assumed'] {
  if (before === null) return 'absent';
  if (until_ms === null) return 'present';
  return before > now_ms ? 'live' : 'over';
}

const isOutcome = (verdict: Refused | Need): verdict is Refused =>
  verdict.kind !== 'read' && verdict.kind !== 'room' && verdict.kind !== 'send';

const rememberedOf = ({ key, digest, reply, positions }: KeptRequest) => ({ key, digest, reply, positions });
