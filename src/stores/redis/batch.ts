import { msOf, type NewEvent } from '../../core/events/envelope.js';
import { lineOf } from '../event-line.js';
import { NumberedRows } from '../numbered-rows.js';
import type { CommitOutcome, CompletedRequest, Permit, Transaction } from '../store.js';
import { FOREVER_MS } from './event-columns.js';
import { headFromText, textOfHead } from './head-text.js';
import { forEachIndexed, INDEX_PREFIX } from './keys.js';
import { packDoubles } from './numbers.js';
import { parsePosting } from './posting.js';
import { requestText } from './whole-batch.js';

/** The kind of an outcome, which is the first number in its reply. */
export const OUTCOME_CODE = { REPLAY: 1, CONFLICT: 2, EARLY: 3, LATE: 4, FULL: 5, COMMITTED: 6 } as const;

/** Distinct names. The script finds a name by its number here plus the offset of the list: see commit.lua. */
class NameTable extends NumberedRows<[name: string]> {
  get list(): string[] {
    return this.column(0);
  }
}

interface EncodedScope {
  readonly scopeNumber: number;
  readonly isOnHeads: boolean;
  /** Empty if the permits of the scope are kept with heads: their members are subjects, which have a table already. */
  readonly members: NameTable;
}

/** Encodes transactions of one project for the script that decides them one by one. */
class BatchEncoder {
  private readonly numbers: number[] = [];
  private readonly texts: string[] = [];
  private readonly subjects = new NameTable();
  private readonly requests = new NameTable();
  private readonly looseIds = new NameTable();
  private readonly indexNames = new NameTable();
  private readonly scopes = new Map<string, EncodedScope>();

  /** Adds eleven numbers, the last of which is the length of the transaction, and then the parts of the transaction. */
  add(transaction: Transaction): void {
    const { numbers } = this;
    const start = numbers.length;
    numbers.push(
      transaction.rules_seq ?? -1,
      transaction.changes_rules ? 1 : 0,
      transaction.not_before_ms ?? 0,
      transaction.not_after_ms ?? FOREVER_MS,
      transaction.requests.length,
      transaction.swaps.length,
      transaction.checks.length,
      transaction.permits.length,
      0,
      transaction.loose_events.length,
      0,
    );
    this.addRequestsAndHeads(transaction);
    numbers[start + 8] = this.addPermits(transaction);
    for (const swap of transaction.swaps) for (const event of swap.events) this.addEvent(event);
    for (const looseEvent of transaction.loose_events) {
      numbers.push(this.looseIds.numberOf(looseEvent.event_id));
      this.addEvent(looseEvent);
    }
    numbers[start + 10] = numbers.length - start;
  }

  /** The arguments of the script: lists of names, and the tape of numbers (see commit.lua), which begins with their lengths. */
  finish(transactionCount: number, replicationId: string, projectId: string): (string | Buffer)[] {
    const { subjects, requests, looseIds, indexNames } = this;
    const lists = [subjects.list, requests.list, looseIds.list, indexNames.list];
    const header = [...lists.map(({ length }) => length), this.scopes.size, transactionCount];
    const strings = [projectId].concat(...lists);
    for (const [scope, { isOnHeads, members }] of this.scopes) {
      header.push(isOnHeads ? 1 : 0, members.list.length);
      strings.push(scope, ...members.list);
    }
    const tape = packDoubles(header.concat(this.numbers));
    return [replicationId as string | Buffer, tape].concat(strings, this.texts);
  }

  private addRequestsAndHeads({ requests, swaps, checks }: Transaction): void {
    const { numbers } = this;
    for (const { key, digest, keep, reply } of requests) {
      const text = keep ? this.texts.push(requestText(digest, reply)) : 0;
      numbers.push(this.requests.numberOf(key), text);
    }
    for (const { subject, expected_seq, head, events } of swaps) {
      const text = this.texts.push(textOfHead(head));
      numbers.push(this.subjects.numberOf(subject), expected_seq, text, events.length);
    }
    for (const { subject, expected_seq } of checks)
      numbers.push(this.subjects.numberOf(subject), expected_seq);
  }

  /** Returns the number of limits added. Limits of scopes without a permit in the batch refuse nothing and are left out. */
  private addPermits({ project_id, permits, permit_limits }: Transaction): number {
    for (const permit of permits) {
      const { scopeNumber, isOnHeads, members } = this.scopeOf(permit);
      const member = isOnHeads
        ? this.subjects.numberOf(permit.member)
        : members.numberOf(`${project_id}\u0000${permit.member}`);
      this.numbers.push(scopeNumber, member, Math.min(permit.until_ms ?? 0, FOREVER_MS));
    }
    const limits = permit_limits.filter(({ scope }) => this.scopes.has(scope));
    for (const { scope, max } of limits) this.numbers.push(this.scopes.get(scope)!.scopeNumber, max);
    return limits.length;
  }

  /** Adds the event's text, its time, and its names in the index. */
  private addEvent(event: NewEvent): void {
    const text = this.texts.push(lineOf(event));
    const start = this.numbers.push(text, msOf(event.timestamp), 0);
    forEachIndexed(event, (field, value) => {
      this.numbers.push(this.indexNames.numberOf(INDEX_PREFIX[field] + value));
    });
    this.numbers[start - 1] = this.numbers.length - start;
  }

  private scopeOf({ scope: name, on_head }: Permit): EncodedScope {
    const existing = this.scopes.get(name);
    if (existing !== undefined) return existing;
    const scope = {
      scopeNumber: this.scopes.size + 1,
      isOnHeads: on_head === true,
      members: new NameTable(),
    };
    this.scopes.set(name, scope);
    return scope;
  }
}

/** The arguments of the commit script for transactions of one project. */
export function encodeBatch(
  transactions: readonly Transaction[],
  lineage: string,
  projectId: string,
): (string | Buffer)[] {
  const encoder = new BatchEncoder();
  for (const transaction of transactions) encoder.add(transaction);
  return encoder.finish(transactions.length, lineage, projectId);
}

/** Decodes the script's reply: the time, then an outcome per transaction, whose first number is its kind. */
export function decodeOutcomes(reply: unknown, transactions: readonly Transaction[]): CommitOutcome[] {
  const [nowMs, ...outcomes] = reply as [number, ...(number | string)[][]];
  return outcomes.map((outcome, index) => decodeOutcome(outcome, transactions[index]!, nowMs));
}

function decodeOutcome(
  [kind, ...rest]: (number | string)[],
  { swaps, checks }: Transaction,
  now_ms: number,
): CommitOutcome {
  switch (kind) {
    case OUTCOME_CODE.REPLAY:
      return { kind: 'replay', request: requestFromStored(...(rest as [string, string])), now_ms };
    case OUTCOME_CODE.CONFLICT: {
      const [rules_seq, ...headTexts] = rest as [number, ...string[]];
      const heads = [...swaps, ...checks].map(({ subject }, index) => ({
        subject,
        head: headTexts[index] ? headFromText(headTexts[index]) : null,
      }));
      return { kind: 'conflict', heads, rules_seq, now_ms };
    }
    case OUTCOME_CODE.EARLY:
      return { kind: 'early', now_ms };
    case OUTCOME_CODE.LATE:
      return { kind: 'late', now_ms };
    case OUTCOME_CODE.FULL:
      return { kind: 'full', scope: rest[0] as string, now_ms };
    case OUTCOME_CODE.COMMITTED: {
      const [rules_seq, ...positions] = rest as [number, ...number[]];
      return {
        kind: 'committed',
        positions: positions.map((position) => position || null),
        rules_seq,
        now_ms,
      };
    }
    default:
      throw new Error(`The commit script returned an outcome of unknown kind ${kind}.`);
  }
}

/** A request is stored after the positions of its events. */
function requestFromStored(key: string, stored: string): CompletedRequest {
  const end = stored.indexOf(' ');
  const [digest, reply] = JSON.parse(stored.slice(end + 1)) as [string, unknown?];
  return { key, digest, reply, positions: parsePosting(stored.slice(0, end)) };
}
