import type { NewEvent } from '../../core/events/envelope.js';
import { NumberedRows } from '../numbered-rows.js';
import { lastPerMember } from '../permits.js';
import type {
  CommitOutcome,
  CompletedRequest,
  Permit,
  RequestRecord,
  StoredHead,
  Transaction,
} from '../store.js';
import { encodeLines, encodeNames, encodeNumbers, untilOf, wholeMs } from './encoding.js';
import { eventColumns } from './events.js';

/** Kinds of outcome in the reply of the commit function. */
export const OUTCOME_CODE = { committed: 0, conflict: 1, replay: 2, early: 3, late: 4, full: 5 } as const;

/** The reply to remember, as JSON; empty: none. */
export const replyOf = ({ reply }: RequestRecord): string =>
  reply === undefined ? '' : JSON.stringify(reply);

/** A batch of any kind in the form that `commit_batch` accepts, column by column. Also decodes the reply. */
export class CommitBatch {
  private readonly encodedOperations: (number | string)[] = [];
  private readonly projects = new NumberedRows<[tenant_id: string, project_id: string]>();
  private readonly subjects = new NumberedRows<[project: number, subject: string]>();
  private readonly scopes = new NumberedRows<[tenant_id: string, scope: string]>();
  /** By scope: the number of permits taken or released, and the lowest limit. */
  private readonly scopeTakes: number[] = [];
  private readonly scopeMax: number[] = [];
  private readonly permits = new NumberedRows<
    [project: number, scope: number, onHead: 't' | 'f', member: string]
  >();
  private readonly requestKeys = new NumberedRows<[project: number, key: string]>();
  private readonly looseEvents = new NumberedRows<[project: number, event_id: string]>();
  private readonly heads: StoredHead[] = [];
  /** Every request, with the index of the transaction it belongs to. */
  private readonly requestRecords: { project: number; request: RequestRecord; index: number }[] = [];
  private readonly events: { project: number; event: NewEvent }[] = [];

  constructor(private readonly transactions: readonly Transaction[]) {
    for (const [index, transaction] of transactions.entries()) this.add(transaction, index);
  }

  /** In the order of the commit function's parameters, after the batch's id. */
  values(): unknown[] {
    const { projects, subjects, scopes, permits, requestKeys, looseEvents, requestRecords, events } = this;
    return [
      encodeNumbers(this.encodedOperations),
      encodeNames(projects.column(0)),
      encodeNames(projects.column(1)),
      encodeNumbers(subjects.column(0)),
      encodeNames(subjects.column(1)),
      encodeNames(scopes.column(0)),
      encodeNames(scopes.column(1)),
      encodeNumbers(scopes.rows.map((_, index) => this.scopeTakes[index] ?? 0)),
      encodeNumbers(scopes.rows.map((_, index) => wholeMs(this.scopeMax[index] ?? Number.POSITIVE_INFINITY))),
      encodeNumbers(permits.column(0)),
      encodeNumbers(permits.column(1)),
      encodeNumbers(permits.column(2)),
      encodeNames(permits.column(3)),
      encodeNumbers(requestKeys.column(0)),
      encodeNames(requestKeys.column(1)),
      encodeNumbers(looseEvents.column(0)),
      encodeNames(looseEvents.column(1)),
      encodeLines(this.heads.map((head) => JSON.stringify(head))),
      encodeNumbers(requestRecords.map(({ project }) => project)),
      encodeNames(requestRecords.map(({ request }) => request.key)),
      encodeNames(requestRecords.map(({ request }) => request.digest)),
      encodeLines(requestRecords.map(({ request }) => replyOf(request))),
      encodeNumbers(events.map(({ project }) => project)),
      ...eventColumns(events.map(({ event }) => event)),
    ];
  }

  /** Decodes the reply of `commit_batch`, transaction by transaction. */
  outcomes(reply: string): CommitOutcome[] {
    const [now, codes = '', positions = '', ...rows] = reply.split('\n');
    const now_ms = Number(now);
    const nextCode = numberReader(codes);
    const nextPosition = numberReader(positions);
    const earlierRows = parseEarlierRows(rows);
    const outcomes: CommitOutcome[] = [];
    for (const transaction of this.transactions) {
      const length = swapEventCount(transaction) + transaction.loose_events.length;
      const positions = Array.from({ length }, () => nextPosition() || null);
      outcomes.push(this.decodeOutcome(transaction, nextCode, earlierRows, outcomes, { positions, now_ms }));
    }
    return outcomes;
  }

  private decodeOutcome(
    transaction: Transaction,
    nextCode: () => number,
    earlierRows: EarlierRows,
    earlierOutcomes: readonly CommitOutcome[],
    { positions, now_ms }: { positions: (number | null)[]; now_ms: number },
  ): CommitOutcome {
    switch (nextCode()) {
      case OUTCOME_CODE.replay:
        return {
          kind: 'replay',
          request: this.replayedRequest(nextCode(), nextCode(), earlierRows, earlierOutcomes),
          now_ms,
        };
      case OUTCOME_CODE.conflict: {
        const rules_seq = nextCode();
        const project = this.projectNumber(transaction);
        const heads = [...transaction.swaps, ...transaction.checks].map(({ subject }) => {
          // 0: no swap of this batch made the head.
          const swapNumber = nextCode();
          const earlierHead = earlierRows.heads.get(this.subjects.numberOf(project, subject));
          return { subject, head: (swapNumber > 0 ? this.heads[swapNumber - 1] : earlierHead) ?? null };
        });
        return { kind: 'conflict', heads, rules_seq, now_ms };
      }
      case OUTCOME_CODE.early:
        return { kind: 'early', now_ms };
      case OUTCOME_CODE.late:
        return { kind: 'late', now_ms };
      case OUTCOME_CODE.full:
        return { kind: 'full', scope: this.scopes.row(nextCode())[1], now_ms };
      default:
        return { kind: 'committed', positions, rules_seq: nextCode(), now_ms };
    }
  }

  /** `keptNumber`: the request of this batch that was kept under the key; -1: the database had one before the batch. */
  private replayedRequest(
    requestNumber: number,
    keptNumber: number,
    earlierRows: EarlierRows,
    earlierOutcomes: readonly CommitOutcome[],
  ): CompletedRequest {
    const [, key] = this.requestKeys.row(requestNumber);
    if (keptNumber === -1)
      return { key, ...(earlierRows.requests.get(requestNumber) as Omit<CompletedRequest, 'key'>) };
    const { request, index } = this.requestRecords[keptNumber - 1] as (typeof this.requestRecords)[number];
    const { positions } = earlierOutcomes[index] as CommitOutcome & { kind: 'committed' };
    const { digest, reply } = request;
    return { key, digest, reply, positions: positions.filter((position) => position !== null) };
  }

  private add(transaction: Transaction, index: number): void {
    const { swaps, checks, requests, loose_events, changes_rules } = transaction;
    const project = this.projectNumber(transaction);
    const permits = lastPerMember(transaction.permits);
    const swapEvents = swapEventCount(transaction);
    const hasEffect =
      swapEvents + loose_events.length + permits.length > 0 ||
      requests.some((request) => request.keep) ||
      changes_rules;
    this.encodedOperations.push(
      project,
      transaction.rules_seq ?? -1,
      changes_rules ? 1 : 0,
      wholeMs(transaction.not_before_ms ?? 0),
      wholeMs(transaction.not_after_ms ?? Number.POSITIVE_INFINITY),
      hasEffect ? 1 : 0,
      swaps.length,
      checks.length,
      requests.length,
      loose_events.length,
      permits.length,
      transaction.permit_limits.length,
      swapEvents,
    );
    for (const { subject, expected_seq, head, events } of swaps) {
      this.encodedOperations.push(this.subjects.numberOf(project, subject), expected_seq, events.length);
      this.heads.push(head);
      for (const event of events) this.events.push({ project, event });
    }
    for (const { subject, expected_seq } of checks) {
      this.encodedOperations.push(this.subjects.numberOf(project, subject), expected_seq);
    }
    for (const request of requests) {
      this.encodedOperations.push(this.requestKeys.numberOf(project, request.key), request.keep ? 1 : 0);
      this.requestRecords.push({ project, request, index });
    }
    for (const event of loose_events) {
      this.encodedOperations.push(this.looseEvents.numberOf(project, event.event_id));
      this.events.push({ project, event });
    }
    this.addPermits(transaction, project, permits);
  }

  private addPermits(
    { tenant_id, permit_limits }: Transaction,
    project: number,
    permits: readonly Permit[],
  ): void {
    for (const { scope, member, until_ms, on_head } of permits) {
      const scopeNumber = this.scopes.numberOf(tenant_id, scope);
      this.encodedOperations.push(
        this.permits.numberOf(project, scopeNumber, on_head ? 't' : 'f', member),
        untilOf(until_ms),
      );
      this.scopeTakes[scopeNumber - 1] = (this.scopeTakes[scopeNumber - 1] ?? 0) + 1;
    }
    for (const { scope, max } of permit_limits) {
      const scopeNumber = this.scopes.numberOf(tenant_id, scope);
      this.encodedOperations.push(scopeNumber, wholeMs(max));
      this.scopeMax[scopeNumber - 1] = Math.min(this.scopeMax[scopeNumber - 1] ?? max, max);
    }
  }

  private projectNumber({ tenant_id, project_id }: Transaction): number {
    return this.projects.numberOf(tenant_id, project_id);
  }
}

export const swapEventCount = ({ swaps }: Transaction): number =>
  swaps.reduce((count, { events }) => count + events.length, 0);

/** Heads and requests from before the batch, by the numbers of subjects and requests. */
interface EarlierRows {
  readonly heads: ReadonlyMap<number, StoredHead>;
  readonly requests: ReadonlyMap<number, Omit<CompletedRequest, 'key'>>;
}

/** A line is `h NUMBER HEAD` or `r NUMBER FIRST_POSITION EVENTS [DIGEST, REPLY]`. */
function parseEarlierRows(rows: readonly string[]): EarlierRows {
  const heads = new Map<number, StoredHead>();
  const requests = new Map<number, Omit<CompletedRequest, 'key'>>();
  for (const row of rows) {
    const [kind, rowNumber, first, events] = row.split(' ', 4);
    if (kind === 'h') heads.set(Number(rowNumber), JSON.parse(row.slice(row.indexOf('{'))));
    else {
      const [digest, reply] = JSON.parse(row.slice(row.indexOf('['))) as [string, string | null];
      const positions = Array.from({ length: Number(events) }, (_, index) => Number(first) + index);
      requests.set(Number(rowNumber), {
        digest,
        reply: reply === null ? undefined : JSON.parse(reply),
        positions,
      });
    }
  }
  return { heads, requests };
}

/** Reads space-separated numbers one by one. */
function numberReader(text: string): () => number {
  const numerals = text.split(' ').values();
  return () => {
    const { value, done } = numerals.next();
    if (done) throw new Error('The reply of the commit function is shorter than its batch.');
    return Number(value);
  };
}
