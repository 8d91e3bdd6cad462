import { msOf, type NewEvent } from '../../core/events/envelope.js';
import { lineOf } from '../event-line.js';
import { lastPerMember } from '../permits.js';
import type { CachedRequest } from '../request-cache.js';
import type { CommitOutcome, Permit, PermitLimit, StoredHead, Transaction } from '../store.js';
import { assertWellFormed } from '../well-formed.js';
import { EventPages } from './event-pages.js';
import { type CachedProject, memberName, type ProjectCache, UNLIMITED } from './project-cache.js';

/** DynamoDB limits a transaction to 100 items and 4 MB. `BYTES_MAX` leaves space for the fixed items of every transaction. */
export const ITEMS_MAX = 100;
const BYTES_MAX = 3_500_000;
/** The project's row, the mark of a transaction without events, and the entry of a new project in its tenant's list. */
const FIXED_ITEMS = 3;
/** An estimate of the size of an item without its texts. */
const ITEM_BYTES = 500;

/** What must happen before a transaction can be decided. */
type PlanNeed =
  /** Everything that the transactions depend on must be read. */
  | { readonly kind: 'read' }
  /** The project must reserve a larger share of a limit. */
  | { readonly kind: 'share'; readonly scope: string; readonly max: number; readonly wantedCount: number }
  /** The current plan must be sent first. */
  | { readonly kind: 'send' };

export interface HeadEntry {
  readonly assumed_seq: number;
  seq: number;
  /** Null: the head is only checked. */
  head: StoredHead | null;
}

export interface MemberEntry {
  readonly scope: string;
  readonly member: string;
  /** The state that the write requires: no item; an item whose time is not over, or is over; any item. */
  readonly assumed: 'absent' | 'live' | 'over' | 'present';
  readonly until_ms: number | null;
}

export interface ShareEntry {
  delta: number;
  /** How many permits the project's share must have spare before the write; null: the write does not check it (see `needsSpare`). */
  minSpare: number | null;
  /** The limit under which the permits are taken, if `minSpare` is checked; `UNLIMITED` without a limit. */
  max: number;
}

type PlanOutcome = Exclude<CommitOutcome | PlanNeed, { kind: 'committed' | 'read' }>;

/**
 * A batch of transactions for one DynamoDB transaction. Each is decided on the cached state plus the effects of those
 * before it.
 */
export class BatchPlan {
  readonly outcomes: CommitOutcome[] = [];
  readonly heads = new Map<string, HeadEntry>();
  /** Null: the request is only looked up. */
  readonly requests = new Map<string, CachedRequest | null>();
  readonly looseEvents = new Set<string>();
  readonly members = new Map<string, MemberEntry>();
  readonly shares = new Map<string, ShareEntry>();
  readonly eventPages = new EventPages();
  /** The limits that the transactions were decided under. */
  private readonly limits = new Map<string, number>();
  /** From this time on, the DynamoDB transaction must not happen. */
  not_after_ms = Number.POSITIVE_INFINITY;
  hasWrites = false;
  /** The project after the batch. */
  project: CachedProject;
  private bytes = 0;

  constructor(
    private readonly cache: ProjectCache,
    readonly now_ms: number,
    indexedBuckets: number,
  ) {
    const { row_version, indexed_buckets } = cache.project;
    this.project = {
      ...cache.project,
      row_version: row_version + 1,
      now_ms,
      indexed_buckets: Math.max(indexed_buckets, indexedBuckets),
    };
  }

  /** The number of items so far, without the events. */
  private get itemCount(): number {
    const { heads, requests, looseEvents, members, shares } = this;
    return [heads, requests, looseEvents, members, shares].reduce((sum, { size }) => sum + size, FIXED_ITEMS);
  }

  /** Decides a transaction, and adds it to the batch unless it is refused. */
  add(transaction: Transaction): PlanNeed | null {
    assertWellFormed(transaction);
    const changes = this.changesOf(transaction);
    const decision = this.decide(transaction, changes);
    if (decision === null) return this.accept(transaction, changes);
    if (decision.kind === 'send') return decision;
    // An assumption is enough to try a transaction, but not to refuse one.
    if (!this.cache.isComplete) return { kind: 'read' };
    if (decision.kind === 'share') return decision;
    this.outcomes.push(decision);
    return null;
  }

  private decide(transaction: Transaction, changes: ReadonlyMap<string, ScopeChange>): PlanOutcome | null {
    const { now_ms } = this;
    const { not_before_ms, not_after_ms } = transaction;
    for (const { key } of transaction.requests) {
      const completed = this.requests.get(key) ?? this.cache.request(key, now_ms);
      if (completed == null) continue;
      const { at_ms: _, ...request } = completed;
      return { kind: 'replay', request, now_ms };
    }
    if (this.hasConflict(transaction)) return this.conflict(transaction);
    if (not_before_ms !== null && now_ms < not_before_ms) return { kind: 'early', now_ms };
    if (not_after_ms !== null && now_ms >= not_after_ms) return { kind: 'late', now_ms };
    return this.checkLimits(transaction, changes);
  }

  private hasConflict(transaction: Transaction): boolean {
    if (transaction.rules_seq !== null && transaction.rules_seq !== this.project.rules_seq) return true;
    return [...transaction.swaps, ...transaction.checks].some(({ subject, expected_seq }) => {
      const seq = this.seqOf(subject);
      return seq !== undefined && seq !== expected_seq;
    });
  }

  private seqOf(subject: string): number | undefined {
    const entry = this.heads.get(subject);
    if (entry !== undefined) return entry.seq;
    const head = this.cache.heads.get(subject);
    return head === null ? 0 : (head?.seq ?? this.cache.seqs.get(subject));
  }

  private conflict(transaction: Transaction): PlanOutcome {
    const heads = [...transaction.swaps, ...transaction.checks].map(({ subject }) => ({
      subject,
      head: this.heads.get(subject)?.head ?? this.cache.heads.get(subject) ?? null,
    }));
    return { kind: 'conflict', heads, rules_seq: this.project.rules_seq, now_ms: this.now_ms };
  }

  private checkLimits(
    transaction: Transaction,
    changes: ReadonlyMap<string, ScopeChange>,
  ): PlanOutcome | null {
    const unlimited = [...changes.keys()]
      .filter((scope) => transaction.permit_limits.every((limit) => limit.scope !== scope))
      .map((scope) => ({ scope, max: UNLIMITED }));
    for (const { scope, max } of [...transaction.permit_limits, ...unlimited]) {
      const change = changes.get(scope);
      const wantedCount = (this.shares.get(scope)?.delta ?? 0) + (change?.delta ?? 0);
      if (change === undefined || !needsSpare(change.newlyLiveCount, max, wantedCount)) continue;
      // A share is reserved under one limit, and the condition of its write can check only one limit.
      if ((this.limits.get(scope) ?? max) !== max) return { kind: 'send' };
      const decision = this.checkLimit(scope, max, wantedCount);
      if (decision !== null && decision.kind !== 'full') return decision;
      this.limits.set(scope, max);
      if (decision !== null) return decision;
    }
    return null;
  }

  private checkLimit(scope: string, max: number, wantedCount: number): PlanOutcome | null {
    const permitCount = this.cache.permitCounts.get(scope);
    if (permitCount?.max === max && this.now_ms < permitCount.until_ms) {
      return wantedCount > permitCount.spare ? { kind: 'full', scope, now_ms: this.now_ms } : null;
    }
    const share = this.cache.shares.get(scope);
    if (share === undefined) return null;
    const fits = share !== null && wantedCount <= share.spare && share.room_max <= max;
    return fits ? null : { kind: 'share', scope, max, wantedCount };
  }

  /** The effect of a transaction's permits on each scope. */
  private changesOf(transaction: Transaction): Map<string, ScopeChange> {
    const changes = new Map<string, ScopeChange>();
    for (const permit of lastPerMember(transaction.permits)) {
      const name = memberName(permit.scope, permit.member);
      const change = changes.get(permit.scope) ?? { memberChanges: [], delta: 0, newlyLiveCount: 0 };
      changes.set(permit.scope, change);
      const previousUntilMs = this.untilOf(name, permit, transaction.permit_limits);
      const until_ms = permit.until_ms !== null && permit.until_ms > this.now_ms ? permit.until_ms : null;
      change.memberChanges.push({ name, permit, previousUntilMs, until_ms });
      change.delta += Number(until_ms !== null) - Number(previousUntilMs !== null);
      if (until_ms !== null && (previousUntilMs === null || previousUntilMs <= this.now_ms))
        change.newlyLiveCount += 1;
    }
    return changes;
  }

  /**
   * When a member's permit ends; null: it has none. A member that is neither planned nor cached is assumed to have none if
   * the transaction takes the permit under a limit; otherwise, it is assumed to have one without end.
   */
  private untilOf(
    name: string,
    { scope, until_ms }: Permit,
    permitLimits: readonly PermitLimit[],
  ): number | null {
    const entry = this.members.get(name);
    if (entry !== undefined) return entry.until_ms;
    const cachedUntilMs = this.cache.members.get(name);
    if (cachedUntilMs !== undefined) return cachedUntilMs;
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
    const requestsToKeep = transaction.requests.filter((request) => request.keep);
    const effectCount =
      events.length + transaction.permits.length + requestsToKeep.length + Number(transaction.changes_rules);
    // A transaction without effects needs no DynamoDB transaction: reads are enough to decide it.
    if (effectCount === 0) {
      return this.cache.isComplete
        ? this.addCommitted(transaction.loose_events.map(() => null))
        : { kind: 'read' };
    }
    const lineByEvent = new Map(events.map((event) => [event, lineOf(event)]));
    if (!this.reserveSpace(transaction, [...lineByEvent.values()], looseEvents.length))
      return { kind: 'send' };
    this.hasWrites = true;
    for (const { subject, expected_seq: seq } of transaction.checks) {
      if (this.heads.has(subject) || this.cache.seqs.get(subject) === seq) continue;
      this.heads.set(subject, { assumed_seq: seq, seq, head: null });
    }
    for (const { subject, expected_seq, head } of transaction.swaps) {
      const assumed_seq = this.heads.get(subject)?.assumed_seq ?? expected_seq;
      this.heads.set(subject, { assumed_seq, seq: head.seq, head });
    }
    this.applyChanges(changes, transaction.permit_limits);
    const positions = this.assignPositions(transaction, lineByEvent);
    const eventPositions = positions.filter((position) => position !== null);
    for (const { key, digest, keep, reply } of transaction.requests) {
      this.requests.set(
        key,
        keep ? { key, digest, reply, positions: eventPositions, at_ms: this.now_ms } : null,
      );
    }
    if (transaction.changes_rules) {
      this.project = { ...this.project, rules_seq: this.project.rules_seq + 1 };
    }
    this.not_after_ms = Math.min(this.not_after_ms, transaction.not_after_ms ?? Number.POSITIVE_INFINITY);
    return this.addCommitted(positions);
  }

  private addCommitted(positions: readonly (number | null)[]): null {
    const { rules_seq } = this.project;
    this.outcomes.push({ kind: 'committed', positions, rules_seq, now_ms: this.now_ms });
    return null;
  }

  /**
   * Reserves space for the transaction. Returns false if it does not fit. The first one that writes is reserved at any size:
   * an empty batch would not give it more space.
   */
  private reserveSpace(transaction: Transaction, lines: readonly string[], looseEventCount: number): boolean {
    const { swaps, checks, permits, requests } = transaction;
    const scopes = new Set(permits.map(({ scope }) => scope)).size;
    const items = swaps.length + checks.length + permits.length + requests.length + scopes + looseEventCount;
    const pages = this.eventPages.countWith(lines, this.project.position + 1);
    const texts = [...swaps.map(({ head }) => head), requests].map((value) => JSON.stringify(value));
    const bytes =
      items * ITEM_BYTES + [...lines, ...texts].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    const fits = this.itemCount + items + pages <= ITEMS_MAX && this.bytes + bytes <= BYTES_MAX;
    if (!fits && this.hasWrites) return false;
    this.bytes += bytes;
    return true;
  }

  private applyChanges(
    changes: ReadonlyMap<string, ScopeChange>,
    permitLimits: readonly PermitLimit[],
  ): void {
    for (const [scope, { memberChanges, delta, newlyLiveCount }] of changes) {
      for (const { name, permit, previousUntilMs, until_ms } of memberChanges) {
        const { scope, member } = permit;
        const assumed =
          this.members.get(name)?.assumed ?? assumptionOf(previousUntilMs, until_ms, this.now_ms);
        this.members.set(name, { scope, member, assumed, until_ms });
      }
      const entry = this.shares.get(scope) ?? { delta: 0, minSpare: null, max: 0 };
      entry.delta += delta;
      const max = permitLimits.find((limit) => limit.scope === scope)?.max ?? UNLIMITED;
      if (needsSpare(newlyLiveCount, max, entry.delta)) {
        entry.minSpare = Math.max(entry.minSpare ?? entry.delta, entry.delta);
        entry.max = max;
      }
      if (entry.delta !== 0 || entry.minSpare !== null) this.shares.set(scope, entry);
    }
  }

  private assignPositions(
    transaction: Transaction,
    lineByEvent: ReadonlyMap<NewEvent, string>,
  ): (number | null)[] {
    const swapEvents = transaction.swaps.flatMap(({ events }) => events);
    return [...swapEvents, ...transaction.loose_events].map((event) => {
      const line = lineByEvent.get(event);
      if (line === undefined) return null;
      if (event.seq === undefined) this.looseEvents.add(event.event_id);
      return this.append(event, line);
    });
  }

  private append(event: NewEvent, line: string): number {
    const { position: last, time_high_ms, late_max_ms } = this.project;
    const position = last + 1;
    const atMs = msOf(event.timestamp);
    const highMs = Number.isNaN(atMs) ? time_high_ms : Math.max(time_high_ms, atMs);
    const lateMs = Number.isNaN(atMs) ? 0 : highMs - atMs;
    this.project = {
      ...this.project,
      position,
      time_high_ms: highMs,
      late_max_ms: Math.max(late_max_ms, lateMs),
    };
    this.eventPages.add(line, position, time_high_ms);
    return position;
  }
}

interface MemberChange {
  readonly name: string;
  readonly permit: Permit;
  readonly previousUntilMs: number | null;
  readonly until_ms: number | null;
}

interface ScopeChange {
  readonly memberChanges: MemberChange[];
  /** The change in the number of registered permits. */
  delta: number;
  /** The number of members that become live. */
  newlyLiveCount: number;
}

/**
 * Whether the write must check that the project's share has enough spare permits for the batch. It must even without a
 * limit if the batch registers more permits, because other projects rely on the size of this share.
 */
const needsSpare = (newlyLiveCount: number, max: number, wantedCount: number): boolean =>
  newlyLiveCount > 0 && (max !== UNLIMITED || wantedCount > 0);

function assumptionOf(
  previousUntilMs: number | null,
  untilMs: number | null,
  nowMs: number,
): MemberEntry['assumed'] {
  if (previousUntilMs === null) return 'absent';
  if (untilMs === null) return 'present';
  return previousUntilMs > nowMs ? 'live' : 'over';
}
