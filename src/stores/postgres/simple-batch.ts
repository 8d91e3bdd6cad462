import type { NewEvent } from '../../core/events/envelope.js';
import { lastPerMember } from '../permits.js';
import type { CommitOutcome, HeadCheck, HeadSwap, Permit, RequestRecord, Transaction } from '../store.js';
import { replyOf, swapEventCount } from './batch.js';
import { encodeLines, encodeNames, encodeNumbers, untilOf, wholeMs } from './encoding.js';
import { blockNames } from './event-names.js';
import { eventColumns } from './events.js';

/** A request to keep, with the events of its transaction. */
interface KeptRequest {
  readonly request: RequestRecord;
  /** Counted from 1, in the batch. */
  readonly firstEvent: number;
  readonly eventCount: number;
}

/** A scope in which the batch takes or releases permits. */
interface BatchScope {
  readonly number: number;
  takes: number;
  /** The lowest limit. */
  max: number;
}

/**
 * A batch that `commit_simple` may commit as a whole: all transactions concern one project, none depends on another one
 * of the batch, and none has loose events or changes the rules. This is what coordinators mostly send.
 */
export class SimpleBatch {
  private readonly swaps: HeadSwap[] = [];
  private readonly swappedSubjects = new Set<string>();
  private readonly checks: HeadCheck[] = [];
  private readonly scopes = new Map<string, BatchScope>();
  /** The permits that are kept in the row of their head (`Permit.on_head`), by subject. All are of one scope. */
  private readonly headPermits = new Map<string, Permit>();
  private headScope: string | null = null;
  /** The permits that have a row of their own, by scope and member. */
  private readonly otherPermits = new Map<string, Permit>();
  private readonly requestKeys = new Set<string>();
  private readonly keptRequests: KeptRequest[] = [];
  private readonly otherRequests: RequestRecord[] = [];
  private readonly events: NewEvent[] = [];
  private rulesSeq = -1;
  private notBeforeMs = 0;
  private notAfterMs = Number.POSITIVE_INFINITY;

  private constructor(private readonly transactions: readonly Transaction[]) {}

  /** Null if the transactions need `commit_batch`. */
  static of(transactions: readonly Transaction[]): SimpleBatch | null {
    const batch = new SimpleBatch(transactions);
    return transactions.every((transaction) => batch.add(transaction)) && batch.isIndependent()
      ? batch
      : null;
  }

  /** In the order of the function's parameters, after the batch's id. */
  values(): unknown[] {
    const { swaps, checks, keptRequests, otherRequests } = this;
    const { tenant_id, project_id } = this.transactions[0] as Transaction;
    const scopes = [...this.scopes.values()];
    const permits = [...this.otherPermits.values()];
    const namesByBlock = blockNames(this.events);
    return [
      tenant_id,
      project_id,
      this.rulesSeq,
      wholeMs(this.notBeforeMs),
      wholeMs(this.notAfterMs),
      encodeNames([...this.scopes.keys()]),
      encodeNumbers(scopes.map(({ takes }) => takes)),
      encodeNumbers(scopes.map(({ max }) => wholeMs(max))),
      encodeNames(swaps.map(({ subject }) => subject)),
      encodeNumbers(swaps.map(({ expected_seq }) => expected_seq)),
      encodeNumbers(swaps.map(({ head }) => head.seq)),
      encodeLines(swaps.map(({ head }) => JSON.stringify(head))),
      this.headScope === null ? 0 : this.scopeNumber(this.headScope),
      encodeNumbers(swaps.map(({ subject }) => this.headUntil(subject))),
      encodeNames(checks.map(({ subject }) => subject)),
      encodeNumbers(checks.map(({ expected_seq }) => expected_seq)),
      encodeNumbers(permits.map(({ scope }) => this.scopeNumber(scope))),
      encodeNames(permits.map(({ member }) => member)),
      encodeNumbers(permits.map(({ until_ms }) => untilOf(until_ms))),
      encodeNames([
        ...keptRequests.map(({ request }) => request.key),
        ...otherRequests.map(({ key }) => key),
      ]),
      encodeNames(keptRequests.map(({ request }) => request.digest)),
      encodeLines(keptRequests.map(({ request }) => replyOf(request))),
      encodeNumbers(keptRequests.map(({ firstEvent }) => firstEvent)),
      encodeNumbers(keptRequests.map(({ eventCount }) => eventCount)),
      ...eventColumns(this.events),
      encodeNumbers(namesByBlock.blocks),
      encodeNumbers(namesByBlock.fields),
      encodeNames(namesByBlock.names),
    ];
  }

  /** Decodes the reply: the time, the position before the batch, and `rules_seq`. */
  outcomes(reply: string): CommitOutcome[] {
    const [now_ms, before, rules_seq] = reply.split(' ').map(Number) as [number, number, number];
    let position = before;
    return this.transactions.map((transaction) => {
      const positions = Array.from({ length: swapEventCount(transaction) }, () => ++position);
      return { kind: 'committed', positions, rules_seq, now_ms };
    });
  }

  /** Adds a transaction. Returns false if the batch then needs `commit_batch`. */
  private add(transaction: Transaction): boolean {
    const { swaps, checks, loose_events, changes_rules, not_before_ms, not_after_ms } = transaction;
    if (changes_rules || loose_events.length > 0 || !this.isSameProject(transaction)) return false;
    if (!this.addRules(transaction.rules_seq)) return false;
    this.notBeforeMs = Math.max(this.notBeforeMs, not_before_ms ?? 0);
    this.notAfterMs = Math.min(this.notAfterMs, not_after_ms ?? Number.POSITIVE_INFINITY);
    if (!this.addRequests(transaction)) return false;
    for (const swap of swaps) {
      if (this.swappedSubjects.has(swap.subject)) return false;
      this.swappedSubjects.add(swap.subject);
      this.swaps.push(swap);
      for (const event of swap.events) this.events.push(event);
    }
    for (const check of checks) this.checks.push(check);
    return this.addPermits(transaction);
  }

  private isSameProject({ tenant_id, project_id }: Transaction): boolean {
    const [first] = this.transactions as [Transaction];
    return first.tenant_id === tenant_id && first.project_id === project_id;
  }

  private addRules(rulesSeq: number | null): boolean {
    if (rulesSeq === null || rulesSeq === this.rulesSeq) return true;
    if (this.rulesSeq !== -1) return false;
    this.rulesSeq = rulesSeq;
    return true;
  }

  private addRequests(transaction: Transaction): boolean {
    for (const request of transaction.requests) {
      if (this.requestKeys.has(request.key)) return false;
      this.requestKeys.add(request.key);
      const firstEvent = this.events.length + 1;
      if (!request.keep) this.otherRequests.push(request);
      else this.keptRequests.push({ request, firstEvent, eventCount: swapEventCount(transaction) });
    }
    return true;
  }

  private addPermits({ permits, permit_limits }: Transaction): boolean {
    for (const permit of lastPerMember(permits)) {
      const { scope, member, until_ms } = permit;
      if (until_ms !== null) this.scopeOf(scope).takes += 1;
      else this.scopeOf(scope);
      const isNew = permit.on_head
        ? this.addHeadPermit(permit)
        : !this.otherPermits.has(`${scope}\n${member}`);
      if (!isNew) return false;
      if (!permit.on_head) this.otherPermits.set(`${scope}\n${member}`, permit);
    }
    // A limit on a scope in which the transaction takes nothing does not concern it.
    for (const { scope, max } of permit_limits) {
      if (!permits.some((permit) => permit.scope === scope && permit.until_ms !== null)) continue;
      const batchScope = this.scopeOf(scope);
      batchScope.max = Math.min(batchScope.max, max);
    }
    return true;
  }

  private addHeadPermit(permit: Permit): boolean {
    this.headScope ??= permit.scope;
    if (this.headScope !== permit.scope || this.headPermits.has(permit.member)) return false;
    this.headPermits.set(permit.member, permit);
    return true;
  }

  /** Whether no transaction depends on what another one changes, and every permit on a head comes with a swap of that head. */
  private isIndependent(): boolean {
    for (const { subject } of this.checks) if (this.swappedSubjects.has(subject)) return false;
    for (const subject of this.headPermits.keys()) if (!this.swappedSubjects.has(subject)) return false;
    return true;
  }

  private scopeOf(scope: string): BatchScope {
    let batchScope = this.scopes.get(scope);
    if (batchScope === undefined) {
      batchScope = { number: this.scopes.size + 1, takes: 0, max: Number.POSITIVE_INFINITY };
      this.scopes.set(scope, batchScope);
    }
    return batchScope;
  }

  private scopeNumber(scope: string): number {
    return this.scopeOf(scope).number;
  }

  private headUntil(subject: string): number | string {
    const permit = this.headPermits.get(subject);
    return permit === undefined ? 'NULL' : untilOf(permit.until_ms);
  }
}
