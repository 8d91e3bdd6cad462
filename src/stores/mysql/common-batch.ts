import { msOf, type NewEvent } from '../../core/events/envelope.js';
import { lastPerMember } from '../permits.js';
import type { Permit, Transaction } from '../store.js';
import {
  type BatchValue,
  checkedName,
  distinctLooseEvents,
  FOREVER_MS,
  indexedNames,
  replyText,
  ScopeUsages,
  storedUntilMs,
  TextBuffer,
  type TransactionGroup,
} from './batch.js';
import { BLOCK_EVENTS, listedNames } from './event-blocks.js';

/** The arguments of `commit_common` after the batch's id; null if the group needs `commit_batch`. */
export function encodeCommon(group: TransactionGroup): BatchValue[] | null {
  const batch = new CommonBatch();
  return group.transactions.every((transaction) => batch.add(transaction)) ? batch.values(group.first) : null;
}

/** Independent transactions as the JSON lists that `commit_common` reads; commit.sql defines their columns. */
class CommonBatch {
  private rulesSeq: number | null = null;
  private notBeforeMs: number | null = null;
  private notAfterMs: number | null = null;
  private dueMs = FOREVER_MS;
  private headChanges = 0;
  private hasReleases = 0;
  private headScope: string | null = null;
  private readonly usages = new ScopeUsages();
  private readonly checks: unknown[] = [];
  private readonly lookups: unknown[] = [];
  private readonly heads: unknown[] = [];
  private readonly headTexts = new TextBuffer();
  private readonly events: unknown[] = [];
  private readonly eventTexts = new TextBuffer();
  private readonly names = new NameSpans();
  private readonly times = new TimeSpans();
  private readonly looseEvents: unknown[] = [];
  private readonly requests: unknown[] = [];
  private readonly permits: unknown[] = [];

  /** Adds a transaction. Returns false if it needs `commit_batch`. */
  add(transaction: Transaction): boolean {
    const { changes_rules, rules_seq, not_before_ms, not_after_ms } = transaction;
    if (changes_rules || (this.rulesSeq !== null && rules_seq !== null && rules_seq !== this.rulesSeq))
      return false;
    this.rulesSeq ??= rules_seq;
    if (not_before_ms !== null) this.notBeforeMs = Math.max(this.notBeforeMs ?? not_before_ms, not_before_ms);
    if (not_after_ms !== null) this.notAfterMs = Math.min(this.notAfterMs ?? not_after_ms, not_after_ms);
    const untilByHead = this.addPermits(transaction);
    if (untilByHead === null) return false;
    const first = this.events.length + 1;
    for (const { subject, expected_seq, head, events } of transaction.swaps) {
      const untilMs = untilByHead.get(subject) ?? null;
      this.heads.push([expected_seq, head.seq, untilMs, ...this.headTexts.add(head), checkedName(subject)]);
      this.headChanges += expected_seq === 0 ? 1 : 2;
      for (const event of events) this.addEvent(event);
    }
    for (const { subject, expected_seq } of transaction.checks)
      this.checks.push([expected_seq, checkedName(subject)]);
    for (const looseEvent of distinctLooseEvents(transaction)) {
      this.looseEvents.push(checkedName(looseEvent.event_id));
      this.addEvent(looseEvent);
    }
    this.addRequests(transaction, first);
    return true;
  }

  values({ tenant_id, project_id }: Transaction): BatchValue[] {
    return [
      Buffer.from(checkedName(tenant_id)),
      Buffer.from(checkedName(project_id)),
      this.rulesSeq,
      this.notBeforeMs,
      this.notAfterMs,
      this.dueMs,
      this.headChanges,
      this.events.length,
      this.requests.length,
      this.hasReleases,
      this.headScope === null ? null : Buffer.from(checkedName(this.headScope)),
      JSON.stringify(this.usages.rows()),
      JSON.stringify(this.checks),
      JSON.stringify(this.lookups),
      JSON.stringify(this.heads),
      this.headTexts.joined(),
      JSON.stringify(this.events),
      this.eventTexts.joined(),
      JSON.stringify(this.names.rows()),
      JSON.stringify(this.times.rows()),
      JSON.stringify(this.looseEvents),
      JSON.stringify(this.requests),
      JSON.stringify(this.permits),
    ];
  }

  /** Adds the permits. Returns when those on heads end, by subject; null if they need `commit_batch`. */
  private addPermits({ permits, permit_limits, swaps }: Transaction): Map<string, number> | null {
    const untilByHead = new Map<string, number>();
    for (const permit of lastPerMember(permits)) {
      const untilMs = storedUntilMs(permit);
      this.usages.take(permit.scope, untilMs);
      if (permit.on_head === true) {
        this.headScope ??= permit.scope;
        if (permit.scope !== this.headScope) return null;
        if (!swaps.some(({ subject }) => subject === permit.member)) return null;
        if (untilMs > 0) this.dueMs = Math.min(this.dueMs, untilMs);
        untilByHead.set(permit.member, untilMs);
      } else this.addPermit(permit, untilMs);
    }
    for (const { scope, max } of permit_limits) this.usages.limit(scope, max);
    return untilByHead;
  }

  private addPermit({ scope, member }: Permit, untilMs: number): void {
    this.permits.push([untilMs, checkedName(scope), checkedName(member)]);
    if (untilMs === 0) this.hasReleases = 1;
  }

  private addRequests({ requests }: Transaction, first: number): void {
    const count = this.events.length + 1 - first;
    for (const { key, digest, keep, reply } of requests) {
      if (keep) this.requests.push([first, count, checkedName(digest), checkedName(key), replyText(reply)]);
      else this.lookups.push(checkedName(key));
    }
  }

  private addEvent(event: NewEvent): void {
    this.events.push([...this.eventTexts.add(event), ...indexedNames(event)]);
    this.names.add(this.events.length, event);
    this.times.add(this.events.length, event);
  }
}

/**
 * The first and the last occurrence of each name among the events of a span. A span has as many events as a block, so it
 * overlaps at most two blocks. If a name occurs in both, its first occurrence is in one and its last in the other.
 */
class NameSpans {
  private readonly spans = new Map<string, { first: number; last: number; field: number; name: string }>();

  add(number: number, event: NewEvent): void {
    for (const [field, name] of listedNames(event)) {
      const key = `${spanOf(number)} ${field} ${name}`;
      const span = this.spans.get(key);
      if (span === undefined)
        this.spans.set(key, { first: number, last: number, field, name: checkedName(name) });
      else span.last = number;
    }
  }

  rows(): unknown[] {
    return [...this.spans.values()].flatMap(({ first, last, field, name }) =>
      [...new Set([first, last])].map((number) => [number, field, name]),
    );
  }
}

/** The earliest and the latest time of the events of a span. */
class TimeSpans {
  private readonly spans = new Map<
    number,
    { first: number; last: number; firstMs: number; lastMs: number }
  >();

  add(number: number, { timestamp }: NewEvent): void {
    const atMs = msOf(timestamp);
    if (Number.isNaN(atMs)) return;
    const span = this.spans.get(spanOf(number));
    if (span === undefined) {
      this.spans.set(spanOf(number), { first: number, last: number, firstMs: atMs, lastMs: atMs });
      return;
    }
    span.last = number;
    span.firstMs = Math.min(span.firstMs, atMs);
    span.lastMs = Math.max(span.lastMs, atMs);
  }

  rows(): unknown[] {
    return [...this.spans.values()].flatMap(({ first, last, firstMs, lastMs }) =>
      [...new Set([first, last])].map((number) => [number, firstMs, lastMs]),
    );
  }
}

const spanOf = (number: number): number => Math.floor(number / BLOCK_EVENTS);
