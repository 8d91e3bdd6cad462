import type { EventEnvelope, NewEvent } from '../core/events/envelope.js';
import type { AnyHead } from '../core/fold.js';
import { HeadTable, type HeadTableSnapshot } from '../core/heads/head-table.js';
import type { TenantPermits } from './permits.js';
import { type CachedRequest, RequestCache } from './request-cache.js';
import type {
  CommitOutcome,
  FoldHead,
  LoggedRequest,
  LogStep,
  Permit,
  ProjectKey,
  StoredHead,
  Transaction,
} from './store.js';
import { SubjectOrder } from './subject-order.js';
import { assertWellFormed } from './well-formed.js';

/** What a log must record in addition to a transaction's events to rebuild the ledger. */
export interface TransactionFields {
  /** The value after the transaction, if the transaction changed it. */
  readonly rules_seq?: number;
  readonly permits?: readonly Permit[];
  readonly requests?: readonly LoggedRequest[];
}

export interface ApplyResult {
  readonly outcome: CommitOutcome;
  /** The events to append, in this order; the first one gets `first_position`. */
  readonly events: readonly NewEvent[];
  readonly first_position: number;
  /** Null: the transaction was refused, or has nothing to write, neither events nor other state. */
  readonly fields: TransactionFields | null;
}

/**
 * The parts of a ledger, each to be read once. The parts are live: commits made while they are read may or may not be
 * visible. `restore` makes them consistent: it has to apply the log after `position`, up to the ledger's position when
 * reading ended.
 */
export interface LedgerSnapshot extends HeadTableSnapshot {
  readonly position: number;
  readonly rules_seq: number;
  readonly requests: Iterable<CachedRequest>;
  readonly loose_event_ids: Iterable<string>;
  readonly permits: Iterable<Permit>;
}

/** The in-memory state of one project, against which a log-based store decides transactions. */
export class ProjectLedger {
  /** The position of the last event. */
  position = 0;
  rules_seq = 0;
  /** Whether anything was ever written. A project to which nothing was written does not exist. */
  isWritten = false;
  readonly heads = new HeadTable();
  private readonly subjectOrder = new SubjectOrder();
  private readonly requests = new RequestCache();
  private readonly looseEventIds = new Set<string>();

  constructor(
    readonly key: ProjectKey,
    private readonly permits: TenantPermits,
  ) {}

  head(subject: string): StoredHead | null {
    return this.heads.get(subject) ?? null;
  }

  get head_count(): number {
    return this.heads.size;
  }

  /** Ordered by subject. */
  headsPage(after: string | null, limit: number): StoredHead[] {
    return this.subjectOrder.page(after, limit).map((subject) => this.heads.get(subject) as StoredHead);
  }

  /** Decides one transaction. The state changes only if the outcome is `committed`. */
  apply(transaction: Transaction, nowMs: number): ApplyResult {
    const refusal = this.refusalOf(transaction, nowMs);
    if (refusal === null) return this.applyAccepted(transaction, nowMs);
    return { outcome: refusal, events: [], first_position: this.position + 1, fields: null };
  }

  /** Applies a step. Returns what the log records of it; null: nothing changed, apply the step as a transaction instead. */
  applyStep(
    { event, head, permits, permit_limits, request }: LogStep,
    nowMs: number,
  ): TransactionFields | null {
    if (request !== null && this.requests.has(request.key)) return null;
    if (this.permits.findFullScope(this.key.project_id, permits, permit_limits, nowMs) !== null) return null;
    this.position += 1;
    this.setHead(head, event.seq === 1);
    this.applyPermits(permits, nowMs);
    this.isWritten = true;
    if (request === null) return { permits };
    const { key, digest, reply } = request;
    this.requests.add({ key, digest, reply, positions: [this.position], at_ms: nowMs });
    return { permits, requests: [request] };
  }

  /**
   * Applies a transaction from the log during recovery. Skips what the state already includes, because a snapshot may
   * have been taken while commits continued.
   */
  restore(events: readonly EventEnvelope[], fields: TransactionFields, fold: FoldHead, atMs: number): void {
    for (const event of events) {
      if (event.position !== this.position + 1) {
        throw new Error(`The log continues with position ${event.position} after position ${this.position}.`);
      }
      this.position = event.position;
      if (event.seq === undefined) this.looseEventIds.add(event.event_id);
      else this.restoreHead(event, fold);
    }
    if (fields.rules_seq !== undefined) this.rules_seq = fields.rules_seq;
    this.applyPermits(fields.permits ?? [], atMs);
    const positions = events.map((event) => event.position);
    for (const { key, digest, reply } of fields.requests ?? []) {
      this.requests.remember({ key, digest, reply, positions, at_ms: atMs });
    }
    this.isWritten = true;
  }

  snapshot(): LedgerSnapshot {
    return {
      position: this.position,
      rules_seq: this.rules_seq,
      ...this.heads.snapshot(),
      requests: this.requests.entries(),
      loose_event_ids: this.looseEventIds.values(),
      permits: this.permits.entries(this.key.project_id),
    };
  }

  /** Makes a new ledger from a snapshot. Its permits are added to those of the tenant. */
  static load(projectKey: ProjectKey, permits: TenantPermits, snapshot: LedgerSnapshot): ProjectLedger {
    const ledger = new ProjectLedger(projectKey, permits);
    ledger.position = snapshot.position;
    ledger.rules_seq = snapshot.rules_seq;
    ledger.heads.load(snapshot);
    for (const subject of ledger.heads.subjects()) ledger.subjectOrder.add(subject);
    for (const request of snapshot.requests) ledger.requests.remember(request);
    for (const id of snapshot.loose_event_ids) ledger.looseEventIds.add(id);
    for (const permit of snapshot.permits) ledger.setPermit(permit);
    ledger.isWritten = true;
    return ledger;
  }

  /** The outcome of a transaction that would not be committed; null if it would. Does not change the ledger. */
  refusalOf(transaction: Transaction, nowMs: number): CommitOutcome | null {
    assertWellFormed(transaction);
    return this.findRefusal(transaction, nowMs);
  }

  /** Checks in the order that `CommitOutcome` defines. */
  private findRefusal(transaction: Transaction, now_ms: number): CommitOutcome | null {
    for (const { key } of transaction.requests) {
      const completed = this.requests.get(key);
      if (completed !== undefined) return { kind: 'replay', request: completed, now_ms };
    }
    if (this.hasConflict(transaction)) return this.conflict(transaction, now_ms);
    if (transaction.not_before_ms !== null && now_ms < transaction.not_before_ms)
      return { kind: 'early', now_ms };
    if (transaction.not_after_ms !== null && now_ms >= transaction.not_after_ms)
      return { kind: 'late', now_ms };
    const scope = this.permits.findFullScope(
      this.key.project_id,
      transaction.permits,
      transaction.permit_limits,
      now_ms,
    );
    return scope === null ? null : { kind: 'full', scope, now_ms };
  }

  private hasConflict(transaction: Transaction): boolean {
    if (transaction.rules_seq !== null && transaction.rules_seq !== this.rules_seq) return true;
    for (const { subject, expected_seq } of transaction.swaps)
      if (this.seqOf(subject) !== expected_seq) return true;
    for (const { subject, expected_seq } of transaction.checks)
      if (this.seqOf(subject) !== expected_seq) return true;
    return false;
  }

  private seqOf(subject: string): number {
    return this.heads.get(subject)?.seq ?? 0;
  }

  private conflict(transaction: Transaction, now_ms: number): CommitOutcome {
    const heads = [...transaction.swaps, ...transaction.checks].map(({ subject }) => ({
      subject,
      head: this.head(subject),
    }));
    return { kind: 'conflict', heads, rules_seq: this.rules_seq, now_ms };
  }

  /** What an accepted transaction writes, and its outcome. Does not change the ledger. */
  plan(transaction: Transaction, now_ms: number): ApplyResult {
    const { events, positions } = this.assignPositions(transaction);
    const rules_seq = this.rules_seq + (transaction.changes_rules ? 1 : 0);
    const fields = loggedFieldsOf(transaction, events.length, rules_seq);
    const outcome: CommitOutcome = { kind: 'committed', positions, rules_seq, now_ms };
    return { outcome, events, first_position: this.position + 1, fields };
  }

  private applyAccepted(transaction: Transaction, now_ms: number): ApplyResult {
    const result = this.plan(transaction, now_ms);
    const { events, fields } = result;
    for (const { head, expected_seq } of transaction.swaps) this.setHead(head, expected_seq === 0);
    for (const { event_id } of transaction.loose_events) this.looseEventIds.add(event_id);
    this.position += events.length;
    if (transaction.changes_rules) this.rules_seq += 1;
    this.applyPermits(transaction.permits, now_ms);
    if (fields?.requests !== undefined) {
      const { positions } = result.outcome as Extract<CommitOutcome, { kind: 'committed' }>;
      const eventPositions = positions.includes(null)
        ? positions.filter((at) => at !== null)
        : (positions as number[]);
      for (const { key, digest, reply } of fields.requests) {
        this.requests.add({ key, digest, reply, positions: eventPositions, at_ms: now_ms });
      }
    }
    if (fields !== null) this.isWritten = true;
    return result;
  }

  /** Gives each event its position. The fast path is for the common case of one swap with one event: it copies no list. */
  private assignPositions(transaction: Transaction): {
    events: readonly NewEvent[];
    positions: (number | null)[];
  } {
    const singleEvent =
      transaction.swaps.length === 1 && transaction.loose_events.length === 0
        ? transaction.swaps[0]?.events
        : undefined;
    let { position } = this;
    if (singleEvent?.length === 1) return { events: singleEvent, positions: [position + 1] };
    const events = transaction.swaps.flatMap((swap) => swap.events);
    const positions: (number | null)[] = events.map(() => ++position);
    const newIds = new Set<string>();
    for (const looseEvent of transaction.loose_events) {
      const isNew = !this.looseEventIds.has(looseEvent.event_id) && !newIds.has(looseEvent.event_id);
      positions.push(isNew ? ++position : null);
      if (!isNew) continue;
      newIds.add(looseEvent.event_id);
      events.push(looseEvent);
    }
    return { events, positions };
  }

  private applyPermits(permits: readonly Permit[], nowMs: number): void {
    if (permits.length === 0) return;
    this.permits.advanceTo(nowMs);
    for (const permit of permits) this.setPermit(permit);
  }

  /** A log does not record `on_head`: a permit that is read from it is on a head if its member is a head's subject. */
  private setPermit(permit: Permit): void {
    const isOnHead = permit.on_head === true || this.heads.has(permit.member);
    this.permits.set(this.key.project_id, permit, isOnHead);
  }

  private setHead(head: StoredHead, isNew: boolean): void {
    if (isNew) this.subjectOrder.add(head.subject);
    this.heads.set(head as AnyHead);
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

function loggedFieldsOf(
  transaction: Transaction,
  eventCount: number,
  rulesSeq: number,
): TransactionFields | null {
  const { requests } = transaction;
  const requestsToKeep = requests.every(({ keep }) => keep) ? requests : requests.filter(({ keep }) => keep);
  if (eventCount + transaction.permits.length + requestsToKeep.length === 0 && !transaction.changes_rules)
    return null;
  const fields: { rules_seq?: number; permits?: readonly Permit[]; requests?: readonly LoggedRequest[] } = {};
  if (transaction.changes_rules) fields.rules_seq = rulesSeq;
  if (transaction.permits.length > 0) fields.permits = transaction.permits;
  if (requestsToKeep.length > 0) fields.requests = requestsToKeep;
  return fields;
}
