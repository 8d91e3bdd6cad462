import type { CommitOutcome, HeadSwap, Permit, RequestRecord, Transaction } from '../store.js';
import { EventColumns, FOREVER_MS, rangeText } from './event-columns.js';
import { textOfHead } from './head-text.js';
import { packDoubles } from './numbers.js';

const UNCHANGED = -1;
/** Stands for an infinite limit, because the script needs a finite number. */
const PERMITS_MAX = FOREVER_MS;

/**
 * Transactions of one project, encoded for the script that commits all of them or none. `add` returns false if the
 * outcome of a transaction could depend on another one of the batch, or if the script cannot express the transaction:
 * then the transactions must be decided one by one.
 */
export class WholeBatch {
  private rulesSeq = -1;
  private changesRules = 0;
  private notBeforeMs = 0;
  private notAfterMs = FOREVER_MS;
  private hasEffect = 0;
  private readonly swaps = new Map<string, SwapRow>();
  private readonly checks = new Map<string, number>();
  private readonly requests = new Map<string, string | null>();
  private readonly looseIds = new Set<string>();
  private readonly scopes = new Map<string, ScopeRow>();
  private readonly events = new EventColumns();

  add(transaction: Transaction): boolean {
    const first = this.events.count + 1;
    return (
      this.addRules(transaction) &&
      this.addChecks(transaction) &&
      this.addSwaps(transaction) &&
      this.addLooseEvents(transaction) &&
      this.addPermits(transaction) &&
      this.addRequests(transaction.requests, first)
    );
  }

  /** The arguments of the script. */
  finish(lineage: string, projectId: string): (string | Buffer)[] {
    const { chunks, times, names, eventNumbers } = this.events.finish();
    const keptKeys: string[] = [];
    const keptTexts: string[] = [];
    const lookupKeys: string[] = [];
    for (const [key, text] of this.requests) {
      if (text === null) lookupKeys.push(key);
      else {
        keptKeys.push(key);
        keptTexts.push(text);
      }
    }
    const strings = [lineage as string | Buffer, '', projectId].concat(
      [...this.swaps.keys(), ...this.checks.keys()],
      Array.from(this.swaps.values(), ({ text }) => text),
      keptKeys,
      lookupKeys,
      keptTexts,
      chunks,
      names,
      eventNumbers,
      [...this.looseIds],
      ...Array.from(this.scopes, ([name, { members }]) => [name, ...members.keys()]),
    );
    strings[1] = packDoubles(this.numbers(keptKeys.length, names.length, times));
    return strings;
  }

  private numbers(keptCount: number, nameCount: number, times: readonly number[]): number[] {
    const numbers = [
      this.rulesSeq,
      this.changesRules,
      this.notBeforeMs,
      this.notAfterMs,
      this.hasEffect || this.events.count > 0 ? 1 : 0,
      this.events.count,
      this.swaps.size,
      this.checks.size,
      this.requests.size,
      keptCount,
      nameCount,
      this.looseIds.size,
      this.scopes.size,
    ];
    for (const row of this.swaps.values()) numbers.push(row.expectedSeq, row.first, row.count, row.endMs);
    return numbers.concat(
      [...this.checks.values()],
      times,
      ...Array.from(this.scopes.values(), ({ isOnHeads, max, takenCount, members }) => [
        isOnHeads ? 1 : 0,
        max,
        takenCount,
        members.size,
        ...members.values(),
      ]),
    );
  }

  private addRules({ rules_seq, changes_rules, not_before_ms, not_after_ms }: Transaction): boolean {
    // Transactions after a change of the rules would be decided under the new rules.
    if (this.changesRules > 0) return false;
    if (rules_seq !== null) {
      if (this.rulesSeq >= 0 && this.rulesSeq !== rules_seq) return false;
      this.rulesSeq = rules_seq;
    }
    if (changes_rules) this.changesRules = this.hasEffect = 1;
    if (not_before_ms !== null) this.notBeforeMs = Math.max(this.notBeforeMs, not_before_ms);
    if (not_after_ms !== null) this.notAfterMs = Math.min(this.notAfterMs, not_after_ms);
    return true;
  }

  private addChecks({ checks }: Transaction): boolean {
    for (const { subject, expected_seq } of checks) {
      if (this.swaps.has(subject)) return false;
      if ((this.checks.get(subject) ?? expected_seq) !== expected_seq) return false;
      this.checks.set(subject, expected_seq);
    }
    return true;
  }

  private addSwaps({ swaps }: Transaction): boolean {
    for (const swap of swaps) {
      const { subject } = swap;
      if (this.swaps.has(subject) || this.checks.has(subject)) return false;
      this.swaps.set(subject, swapRow(swap, this.events.count + 1));
      for (const event of swap.events) this.events.add(event);
    }
    return true;
  }

  private addLooseEvents({ loose_events }: Transaction): boolean {
    for (const event of loose_events) {
      if (this.looseIds.has(event.event_id)) return false;
      this.looseIds.add(event.event_id);
      this.events.add(event);
    }
    return true;
  }

  private addPermits(transaction: Transaction): boolean {
    for (const permit of transaction.permits) {
      this.hasEffect = 1;
      const scope = this.scopeOf(permit);
      if (scope === null) return false;
      const endMs = Math.min(permit.until_ms ?? 0, FOREVER_MS);
      if (endMs > 0) scope.takenCount += 1;
      if (!scope.isOnHeads) scope.members.set(`${transaction.project_id}\u0000${permit.member}`, endMs);
      else {
        const row = this.swaps.get(permit.member);
        if (row === undefined) return false;
        row.endMs = endMs;
      }
    }
    for (const { scope: name, max } of transaction.permit_limits) {
      const scope = this.scopes.get(name);
      // The limit of a scope in which no transaction has a permit refuses nothing.
      if (scope !== undefined) scope.max = Math.min(scope.max, max);
    }
    return true;
  }

  /** Null: this would be a second scope with permits on heads, and the script expects at most one. */
  private scopeOf({ scope: name, on_head }: Permit): ScopeRow | null {
    const existing = this.scopes.get(name);
    if (existing !== undefined) return existing;
    const isOnHeads = on_head === true;
    if (isOnHeads) for (const other of this.scopes.values()) if (other.isOnHeads) return null;
    const scope: ScopeRow = { isOnHeads, max: PERMITS_MAX, takenCount: 0, members: new Map() };
    this.scopes.set(name, scope);
    return scope;
  }

  private addRequests(requests: readonly RequestRecord[], first: number): boolean {
    for (const { key, digest, keep, reply } of requests) {
      if (this.requests.has(key)) return false;
      const numbers = first <= this.events.count ? rangeText(first, this.events.count) : '';
      this.requests.set(key, keep ? `:${numbers} ${requestText(digest, reply)}` : null);
      if (keep) this.hasEffect = 1;
    }
    return true;
  }
}

interface SwapRow {
  readonly text: string;
  readonly expectedSeq: number;
  /** Counted from 1 within the batch. */
  readonly first: number;
  readonly count: number;
  endMs: number;
}

const swapRow = ({ head, expected_seq, events }: HeadSwap, first: number): SwapRow => ({
  text: textOfHead(head),
  expectedSeq: expected_seq,
  first,
  count: events.length,
  endMs: UNCHANGED,
});

interface ScopeRow {
  readonly isOnHeads: boolean;
  max: number;
  takenCount: number;
  /** The end of each member's permit, if the scope is not on heads; the last entry wins. */
  readonly members: Map<string, number>;
}

export const requestText = (digest: string, reply: unknown): string =>
  JSON.stringify(reply === undefined ? [digest] : [digest, reply]);

/** The outcomes of transactions that were all committed, one after the other. Only the last may have changed the rules. */
export function wholeOutcomes(reply: unknown, transactions: readonly Transaction[]): CommitOutcome[] {
  const [now_ms, base, rulesSeqAfter] = reply as [number, number, number];
  const changesRules = transactions.at(-1)?.changes_rules === true;
  let next = base + 1;
  return transactions.map(({ swaps, loose_events, changes_rules }) => {
    let end = next + loose_events.length;
    for (const { events } of swaps) end += events.length;
    const positions: number[] = [];
    for (; next < end; next += 1) positions.push(next);
    const rules_seq = changesRules && !changes_rules ? rulesSeqAfter - 1 : rulesSeqAfter;
    return { kind: 'committed', positions, rules_seq, now_ms };
  });
}
