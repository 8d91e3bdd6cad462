import { msOf, type NewEvent } from '../../core/events/envelope.js';
import type { CachedRequest } from '../request-cache.js';
import type {
  CommitOutcome,
  HeadCheck,
  HeadSwap,
  Permit,
  PermitLimit,
  StoredHead,
  Transaction,
} from '../store.js';
import { assertWellFormed } from '../well-formed.js';
import { type CachedProject, memberName, type ProjectCache } from './project-cache.js';

/** A DynamoDB transaction takes 100 items and 4 MB; the limit leaves some space for what every transaction writes. */
export const ITEMS_MAX = 100;
const BYTES_MAX = 3_500_000;
/** The project's row, the mark of the attempt, and the entry of a new project in its tenant's list. */
const ITEMS_ALWAYS = 3;
const ITEM_BYTES = 500;

/** What must be read or reserved before a transaction can be decided. */
export type PlanNeed =
  | {
      readonly kind: 'read';
      readonly subjects: readonly string[];
      readonly requests: readonly string[];
      readonly members: readonly Permit[];
    }
  | { readonly kind: 'room'; readonly scope: string; readonly max: number; readonly want: number }
  /** The current plan must be sent first. */
  | { readonly kind: 'send' };

export interface HeadEntry {
  readonly assumed_seq: number;
  seq: number;
  /** Undefined: only the seq is assumed. */
  head: StoredHead | null | undefined;
  isSwapped: boolean;
}

export interface MemberEntry {
  readonly scope: string;
  readonly member: string;
  readonly assumed: 'absent' | 'live' | 'over' | 'present';
  until_ms: number | null;
}

export interface ShareEntry {
  delta: number;
  /** The number of permits that must be free beforehand; null: no limit applies. */
  need: number | null;
  max: number;
}

export interface PositionedEvent {
  readonly event: NewEvent;
  readonly position: number;
}

type RefusedOutcome = Exclude<CommitOutcome, { kind: 'committed' }>;

/**
 * A batch of transactions for one DynamoDB transaction. Each is decided on the cached state plus the effects of those
 * before it.
 */
export class BatchPlan {
  readonly outcomes: CommitOutcome[] = [];
  readonly heads = new Map<string, HeadEntry>();
  /** Null: it is only looked up. */
  readonly requests = new Map<string, CachedRequest | null>();
  readonly looseEvents = new Set<string>();
  readonly members = new Map<string, MemberEntry>();
  readonly shares = new Map<string, ShareEntry>();
  readonly events: PositionedEvent[] = [];
  /** From this time on, the DynamoDB transaction must not happen. */
  not_after_ms = Number.POSITIVE_INFINITY;
  hasWrites = false;
  private projectAfter: CachedProject;
  private bytes = 0;

  constructor(
    private readonly cache: ProjectCache,
    readonly now_ms: number,
  ) {
    this.projectAfter = { ...cache.project, version: cache.project.version + 1, now_ms };
  }

  /** The project after the batch. */
  get project(): CachedProject {
    return this.projectAfter;
  }

  /** The number of items so far. */
  get items(): number {
    const { heads, requests, looseEvents, members, shares, events } = this;
    return (
      ITEMS_ALWAYS +
      heads.size +
      requests.size +
      looseEvents.size +
      members.size +
      shares.size +
      events.length
    );
  }

  /** Decides a transaction, and adds it to the batch unless it is refused. */
  add(transaction: Transaction): PlanNeed | null {
    assertWellFormed(transaction);
    const changes = this.changesOf(transaction);
    const decision = this.decide(transaction, changes);
    if (decision === null) return this.accept(transaction, changes);
    if (!isOutcome(decision)) return decision;
    this.outcomes.push(decision);
    return null;
  }

  private decide(
    transaction: Transaction,
    changes: ReadonlyMap<string, ScopeChange>,
  ): RefusedOutcome | PlanNeed | null {
    for (const { key } of transaction.requests) {
      const request = this.requests.get(key) ?? this.cache.request(key, this.now_ms);
      if (request != null)
        return { kind: 'replay', request: completedRequestOf(request), now_ms: this.now_ms };
    }
    if (this.hasConflict(transaction)) return this.unknownReads(transaction) ?? this.conflict(transaction);
    const refused = this.checkTime(transaction) ?? this.checkLimits(transaction, changes);
    if (refused === null || !isOutcome(refused)) return refused;
    // An earlier check must be known not to apply before a later one may be reported.
    return this.unknownReads(transaction) ?? refused;
  }

  private hasConflict(transaction: Transaction): boolean {
    if (transaction.rules_seq !== null && transaction.rules_seq !== this.projectAfter.rules_seq) return true;
    return [...transaction.swaps, ...transaction.checks].some(({ subject, expected_seq }) => {
      const seq = this.seqOf(subject);
      return seq !== undefined && seq !== expected_seq;
    });
  }

  private seqOf(subject: string): number | undefined {
    const entry = this.heads.get(subject);
    if (entry !== undefined) return entry.seq;
    const head = this.cache.heads.get(subject);
    return head === null ? 0 : head?.seq;
  }

  private headOf(subject: string): StoredHead | null | undefined {
    const entry = this.heads.get(subject);
    return entry?.isSwapped ? entry.head : this.cache.heads.get(subject);
  }

  private unknownReads(transaction: Transaction): PlanNeed | null {
    const subjects = [...transaction.swaps, ...transaction.checks]
      .map(({ subject }) => subject)
      .filter((subject) => this.headOf(subject) === undefined);
    const requests = transaction.requests
      .map(({ key }) => key)
      .filter((key) => this.cache.request(key, this.now_ms) === undefined && !this.requests.has(key));
    if (subjects.length + requests.length === 0) return null;
    return { kind: 'read', subjects, requests, members: [] };
  }

  private conflict(transaction: Transaction): RefusedOutcome {
    const heads = [...transaction.swaps, ...transaction.checks].map(({ subject }) => ({
      subject,
      head: this.headOf(subject) ?? null,
    }));
    return { kind: 'conflict', heads, rules_seq: this.projectAfter.rules_seq, now_ms: this.now_ms };
  }

  private checkTime({ not_before_ms, not_after_ms }: Transaction): RefusedOutcome | null {
    const { now_ms } = this;
    if (not_before_ms !== null && now_ms < not_before_ms) return { kind: 'early', now_ms };
    if (not_after_ms !== null && now_ms >= not_after_ms) return { kind: 'late', now_ms };
    return null;
  }

  private checkLimits(
    transaction: Transaction,
    changes: ReadonlyMap<string, ScopeChange>,
  ): RefusedOutcome | PlanNeed | null {
    for (const { scope, max } of transaction.permit_limits) {
      const change = changes.get(scope);
      if (change === undefined || change.taken === 0) continue;
      const entry = this.shares.get(scope);
      // The condition of a share can check only one limit.
      if (entry !== undefined && entry.need !== null && entry.max !== max) return { kind: 'send' };
      const want = (entry?.delta ?? 0) + change.delta;
      const verdict = this.checkLimit(scope, max, want);
      if (verdict !== null) return this.unknownMembers(change) ?? verdict;
    }
    return null;
  }

  private checkLimit(scope: string, max: number, want: number): RefusedOutcome | PlanNeed | null {
    const counted = this.cache.permitCounts.get(scope);
    if (counted?.max === max && this.now_ms < counted.until_ms) {
      return want > counted.spare ? { kind: 'full', scope, now_ms: this.now_ms } : null;
    }
    const share = this.cache.shares.get(scope);
    if (share === undefined) return null;
    const fits = share !== null && want <= share.spare && share.room_max <= max;
    return fits ? null : { kind: 'room', scope, max, want };
  }

  /** Members assumed to be new may exist, and then need no permit. */
  private unknownMembers({ memberChanges }: ScopeChange): PlanNeed | null {
    const members = memberChanges
      .filter(({ name }) => !this.members.has(name) && !this.cache.members.has(name))
      .map(({ slot: permit }) => permit);
    return members.length === 0 ? null : { kind: 'read', subjects: [], requests: [], members };
  }

  /** The effect of a transaction's permits on each scope. The last entry per member wins. */
  private changesOf(transaction: Transaction): Map<string, ScopeChange> {
    const lastByMember = new Map(
      transaction.permits.map((permit) => [memberName(permit.scope, permit.member), permit]),
    );
    const changes = new Map<string, ScopeChange>();
    for (const [name, permit] of lastByMember) {
      const change = changes.get(permit.scope) ?? { memberChanges: [], delta: 0, taken: 0 };
      changes.set(permit.scope, change);
      const before = this.untilOf(name, permit, transaction.permit_limits);
      const until_ms = permit.until_ms !== null && permit.until_ms > this.now_ms ? permit.until_ms : null;
      change.memberChanges.push({ name, slot: permit, before, until_ms });
      change.delta += Number(until_ms !== null) - Number(before !== null);
      if (until_ms !== null && (before === null || before <= this.now_ms)) change.taken += 1;
    }
    return changes;
  }

  /** If nothing is known, assumes that a member with a limit is new, and that every other member exists. */
  private untilOf(
    name: string,
    { scope, until_ms }: Permit,
    permitLimits: readonly PermitLimit[],
  ): number | null {
    const entry = this.members.get(name);
    if (entry !== undefined) return entry.until_ms;
    const known = this.cache.members.get(name);
    if (known !== undefined) return known;
    const isNew = until_ms !== null && permitLimits.some((limit) => limit.scope === scope);
    return isNew ? null : Number.POSITIVE_INFINITY;
  }

  private accept(transaction: Transaction, changes: ReadonlyMap<string, ScopeChange>): PlanNeed | null {
    const looseEvents = transaction.loose_events.filter(
      (looseEvent, index) =>
        !this.cache.looseEvents.has(looseEvent.event_id) &&
        !this.looseEvents.has(looseEvent.event_id) &&
        transaction.loose_events.findIndex(({ event_id }) => event_id === looseEvent.event_id) === index,
    );
    const events = [...transaction.swaps.flatMap((swap) => swap.events), ...looseEvents];
    const kept = transaction.requests.filter((request) => request.keep);
    const effects =
      events.length + transaction.permits.length + kept.length + Number(transaction.changes_rules);
    // A transaction without effects needs no DynamoDB transaction: reads answer it.
    if (effects === 0)
      return this.unknownReads(transaction) ?? this.commit(transaction.loose_events.map(() => null));
    if (!this.hasSpace(transaction, events, looseEvents.length)) return { kind: 'send' };
    this.hasWrites = true;
    for (const check of transaction.checks) this.check(check);
    for (const swap of transaction.swaps) this.swap(swap);
    this.move(changes, transaction.permit_limits);
    const positions = this.assignPositions(transaction, new Set(looseEvents));
    const taken = positions.filter((position) => position !== null);
    for (const { key, digest, keep, reply } of transaction.requests) {
      this.requests.set(key, keep ? { key, digest, reply, positions: taken, at_ms: this.now_ms } : null);
    }
    if (transaction.changes_rules)
      this.projectAfter = { ...this.projectAfter, rules_seq: this.projectAfter.rules_seq + 1 };
    this.not_after_ms = Math.min(this.not_after_ms, transaction.not_after_ms ?? Number.POSITIVE_INFINITY);
    return this.commit(positions);
  }

  private commit(positions: readonly (number | null)[]): null {
    const { rules_seq } = this.projectAfter;
    this.outcomes.push({ kind: 'committed', positions, rules_seq, now_ms: this.now_ms });
    return null;
  }

  /** Whether the transaction fits. The first one always does: alone, its events can be packed into pages. */
  private hasSpace(transaction: Transaction, events: readonly NewEvent[], looseEventCount: number): boolean {
    const { swaps, checks, permits, requests } = transaction;
    const scopes = new Set(permits.map(({ scope }) => scope)).size;
    const parts = swaps.length + checks.length + permits.length + requests.length + scopes + looseEventCount;
    const items = parts + events.length;
    const texts = [...events, ...swaps.map(({ head }) => head), requests];
    const bytes =
      items * ITEM_BYTES + texts.reduce((sum, text) => sum + JSON.stringify(text).length * 1.5, 0);
    const fits = this.items + items <= ITEMS_MAX && this.bytes + bytes <= BYTES_MAX;
    if (!fits && this.hasWrites) return false;
    this.bytes += bytes;
    return true;
  }

  private check({ subject, expected_seq }: HeadCheck): void {
    if (this.heads.has(subject)) return;
    const head = this.cache.heads.get(subject);
    this.heads.set(subject, { assumed_seq: expected_seq, seq: expected_seq, head, isSwapped: false });
  }

  private swap({ subject, expected_seq, head }: HeadSwap): void {
    const assumed_seq = this.heads.get(subject)?.assumed_seq ?? expected_seq;
    this.heads.set(subject, { assumed_seq, seq: head.seq, head, isSwapped: true });
  }

  private move(changes: ReadonlyMap<string, ScopeChange>, permitLimits: readonly PermitLimit[]): void {
    for (const [scope, { memberChanges, delta, taken }] of changes) {
      for (const memberChange of memberChanges) this.moveMember(memberChange);
      const entry = this.shares.get(scope) ?? { delta: 0, need: null, max: 0 };
      entry.delta += delta;
      const limit = taken > 0 ? permitLimits.find((candidate) => candidate.scope === scope) : undefined;
      if (limit !== undefined) {
        entry.need = Math.max(entry.need ?? entry.delta, entry.delta);
        entry.max = limit.max;
      }
      if (entry.delta !== 0 || entry.need !== null) this.shares.set(scope, entry);
    }
  }

  private moveMember({ name, slot: permit, before, until_ms }: MemberChange): void {
    const entry = this.members.get(name);
    if (entry !== undefined) {
      entry.until_ms = until_ms;
      return;
    }
    const { scope, member } = permit;
    this.members.set(name, { scope, member, assumed: assumptionOf(before, until_ms, this.now_ms), until_ms });
  }

  private assignPositions(transaction: Transaction, newNotes: ReadonlySet<NewEvent>): (number | null)[] {
    const positions: (number | null)[] = [];
    for (const { events } of transaction.swaps)
      for (const event of events) positions.push(this.append(event));
    for (const looseEvent of transaction.loose_events) {
      positions.push(newNotes.has(looseEvent) ? this.append(looseEvent) : null);
      if (newNotes.has(looseEvent)) this.looseEvents.add(looseEvent.event_id);
    }
    return positions;
  }

  private append(event: NewEvent): number {
    const { position: last, time_high_ms, late_max_ms } = this.projectAfter;
    const position = last + 1;
    const atMs = msOf(event.timestamp);
    const highMs = Number.isNaN(atMs) ? time_high_ms : Math.max(time_high_ms, atMs);
    const lateMs = Number.isNaN(atMs) ? 0 : highMs - atMs;
    this.projectAfter = {
      ...this.projectAfter,
      position,
      time_high_ms: highMs,
      late_max_ms: Math.max(late_max_ms, lateMs),
    };
    this.events.push({ event, position });
    return position;
  }
}

interface MemberChange {
  readonly name: string;
  readonly slot: Permit;
  readonly before: number | null;
  readonly until_ms: number | null;
}

interface ScopeChange {
  readonly memberChanges: MemberChange[];
  /** The change in the number of registered permits. */
  delta: number;
  /** The number of members that become live. */
  taken: number;
}

function assumptionOf(before: number | null, untilMs: number | null, nowMs: number): MemberEntry['assumed'] {
  if (before === null) return 'absent';
  if (untilMs === null) return 'present';
  return before > nowMs ? 'live' : 'over';
}

const isOutcome = (verdict: RefusedOutcome | PlanNeed): verdict is RefusedOutcome =>
  verdict.kind !== 'read' && verdict.kind !== 'room' && verdict.kind !== 'send';

const completedRequestOf = ({ key, digest, reply, positions }: CachedRequest) => ({
  key,
  digest,
  reply,
  positions,
});
