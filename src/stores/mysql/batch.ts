import { msOf, type NewEvent } from '../../core/events/envelope.js';
import { lastPerMember } from '../permits.js';
import type { CommitOutcome, CompletedRequest, Permit, StoredHead, Transaction } from '../store.js';
import { listedNames } from './event-blocks.js';
import { decodeName, encodeName, NAME_BYTES_MAX } from './name-encoding.js';

/** JSON has no Infinity; this stands for a permit that never expires. */
export const FOREVER_MS = Number.MAX_SAFE_INTEGER;
/** Stands for an infinite limit, because the procedure needs a finite number. */
const PERMITS_MAX = FOREVER_MS;
/** Stands for the limit of a scope that has none (commit.sql). */
const NO_LIMIT = -1;

export type BatchValue = Buffer | string | number | null;

/** Splits a batch into groups, in order. Adjacent transactions that are independent form one group. */
export function groupsOf(transactions: readonly Transaction[]): TransactionGroup[] {
  const groups: TransactionGroup[] = [];
  for (const transaction of transactions) {
    if (!groups.at(-1)?.accepts(transaction)) groups.push(new TransactionGroup());
    groups.at(-1)?.add(transaction);
  }
  return groups;
}

/**
 * Transactions of one project that do not depend on each other, so that all of them can be decided on the state before
 * the first, and written together.
 */
export class TransactionGroup {
  readonly transactions: Transaction[] = [];
  private readonly swappedSubjects = new Set<string>();
  private readonly requestKeys = new Set<string>();
  private readonly looseEventIds = new Set<string>();
  private readonly headsWithPermit = new Set<string>();

  get first(): Transaction {
    return this.transactions[0] as Transaction;
  }

  /**
   * Whether a transaction is independent of those in the group. Permits that are not on a head do not matter here: the
   * procedure takes them in the order of the transactions.
   */
  accepts(transaction: Transaction): boolean {
    const { first } = this;
    return (
      transaction.tenant_id === first.tenant_id &&
      transaction.project_id === first.project_id &&
      !first.changes_rules &&
      !transaction.changes_rules &&
      ![...transaction.swaps, ...transaction.checks].some(({ subject }) =>
        this.swappedSubjects.has(subject),
      ) &&
      !transaction.requests.some(({ key }) => this.requestKeys.has(key)) &&
      !transaction.loose_events.some(({ event_id }) => this.looseEventIds.has(event_id)) &&
      !transaction.permits.some(({ member, on_head }) => on_head === true && this.headsWithPermit.has(member))
    );
  }

  add(transaction: Transaction): void {
    this.transactions.push(transaction);
    for (const { subject } of transaction.swaps) this.swappedSubjects.add(subject);
    for (const { key } of transaction.requests) this.requestKeys.add(key);
    for (const { event_id } of transaction.loose_events) this.looseEventIds.add(event_id);
    for (const { member, on_head } of transaction.permits)
      if (on_head === true) this.headsWithPermit.add(member);
  }
}

/** The texts of the whole batch, concatenated; a row of a list refers to its text by offset and length. */
export class TextBuffer {
  private readonly texts: string[] = [];
  private bytes = 0;

  /** The text's offset, from 1, and its length in bytes. */
  add(value: unknown): [number, number] {
    const text = JSON.stringify(value);
    const at = this.bytes + 1;
    const bytes = Buffer.byteLength(text);
    this.texts.push(text);
    this.bytes += bytes;
    return [at, bytes];
  }

  joined(): Buffer {
    return Buffer.from(this.texts.join(''));
  }
}

/** The lists of one group, as `commit_batch` reads them; the columns are defined in commit.sql. */
class GroupLists {
  /** In the order of the procedure's parameters. */
  readonly lists = {
    transactions: [] as unknown[],
    subjects: [] as unknown[],
    heads: [] as unknown[],
    events: [] as unknown[],
    names: [] as unknown[],
    requests: [] as unknown[],
    scopes: [] as unknown[],
    permits: [] as unknown[],
    limits: [] as unknown[],
  };
  readonly header: Record<string, unknown>;
  private readonly usages = new ScopeUsages();
  private hasLooseEvents = 0;
  private hasReleases = 0;
  private keptRequests = 0;

  constructor(
    { transactions, first }: TransactionGroup,
    private readonly headTexts: TextBuffer,
    private readonly eventTexts: TextBuffer,
  ) {
    for (const [transactionIndex, transaction] of transactions.entries())
      this.add(transactionIndex, transaction);
    this.lists.scopes = this.usages.rows();
    this.header = {
      tenant_id: checkedName(first.tenant_id),
      project_id: checkedName(first.project_id),
      events: this.lists.events.length,
      has_loose_events: this.hasLooseEvents,
      has_releases: this.hasReleases,
      kept_requests: this.keptRequests,
      rules_changes: first.changes_rules ? 1 : 0,
    };
  }

  private add(transactionIndex: number, transaction: Transaction): void {
    const { transactions, subjects, heads, events: eventRows, requests } = this.lists;
    const first = eventRows.length + 1;
    transactions.push([
      transactionIndex,
      transaction.rules_seq,
      transaction.not_before_ms,
      transaction.not_after_ms,
    ]);
    for (const { subject, expected_seq, head, events } of transaction.swaps) {
      const name = checkedName(subject);
      subjects.push([transactionIndex, expected_seq, name]);
      heads.push([transactionIndex, head.seq, ...this.headTexts.add(head), name]);
      for (const event of events) this.addEvent(transactionIndex, event, null);
    }
    for (const { subject, expected_seq } of transaction.checks) {
      subjects.push([transactionIndex, expected_seq, checkedName(subject)]);
    }
    for (const looseEvent of distinctLooseEvents(transaction)) {
      this.hasLooseEvents = 1;
      this.addEvent(transactionIndex, looseEvent, checkedName(looseEvent.event_id));
    }
    const count = eventRows.length + 1 - first;
    for (const { key, digest, keep, reply } of transaction.requests) {
      const requestNumber = keep ? ++this.keptRequests : null;
      const names = [checkedName(digest), checkedName(key)];
      requests.push([transactionIndex, requestNumber, first, count, ...names, replyText(reply)]);
    }
    if (transaction.permits.length > 0) this.addPermits(transactionIndex, transaction);
  }

  private addEvent(transactionIndex: number, event: NewEvent, looseEventId: string | null): void {
    const number = this.lists.events.length + 1;
    const atMs = msOf(event.timestamp);
    this.lists.events.push([
      transactionIndex,
      looseEventId,
      ...this.eventTexts.add(event),
      Number.isNaN(atMs) ? null : atMs,
      ...indexedNames(event),
    ]);
    for (const [field, name] of listedNames(event)) this.lists.names.push([number, field, checkedName(name)]);
  }

  private addPermits(transactionIndex: number, { permits, permit_limits }: Transaction): void {
    const permitRows = lastPerMember(permits).map((permit) => {
      const untilMs = storedUntilMs(permit);
      this.usages.take(permit.scope, untilMs);
      if (untilMs === 0) this.hasReleases = 1;
      return [
        untilMs,
        permit.on_head === true ? 1 : 0,
        checkedName(permit.scope),
        checkedName(permit.member),
      ];
    });
    const limitRows = permit_limits.map(({ scope, max }) => [
      this.usages.limit(scope, max),
      checkedName(scope),
    ]);
    this.lists.permits.push([transactionIndex, permitRows]);
    this.lists.limits.push(limitRows);
  }
}

/** How many permits are taken in each scope, and the lowest limit. */
export class ScopeUsages {
  private readonly usageByScope = new Map<string, { takes: number; max: number }>();

  take(scope: string, untilMs: number): void {
    const usage = this.usageByScope.get(scope) ?? { takes: 0, max: NO_LIMIT };
    this.usageByScope.set(scope, usage);
    if (untilMs > 0) usage.takes += 1;
  }

  /** Adds a limit, after the permits of the same transaction. Returns the limit as a finite number. */
  limit(scope: string, max: number): number {
    const finite = Math.min(max, PERMITS_MAX);
    const usage = this.usageByScope.get(scope);
    if (usage !== undefined) usage.max = usage.max === NO_LIMIT ? finite : Math.min(usage.max, finite);
    return finite;
  }

  rows(): [takes: number, max: number, scope: string][] {
    const usages = [...this.usageByScope].map(([scope, usage]) => [checkedName(scope), usage] as const);
    return usages.sort(byName).map(([scope, { takes, max }]) => [takes, max, scope]);
  }
}

/** When a permit ends, as it is stored; 0: released. */
export const storedUntilMs = ({ until_ms }: Permit): number =>
  Math.max(0, Math.min(until_ms ?? 0, FOREVER_MS));

export const replyText = (reply: unknown): string | null =>
  reply === undefined ? null : JSON.stringify(reply);

/** The names of an event that are indexed. */
export const indexedNames = ({ agent_id, session_id, subject }: NewEvent): (string | null)[] =>
  [agent_id, session_id, subject].map((name) => (name === undefined ? null : checkedName(name)));

/** Orders by name, so that all callers lock projects and scopes in the same order. */
const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1);

/** The loose events of a transaction, without duplicates. */
export function distinctLooseEvents({ loose_events: looseEvents }: Transaction): readonly NewEvent[] {
  if (looseEvents.length < 2) return looseEvents;
  return looseEvents.filter(
    ({ event_id }, index) =>
      looseEvents.findIndex((looseEvent) => looseEvent.event_id === event_id) === index,
  );
}

export function checkedName(name: string): string {
  const encoded = encodeName(name);
  if (encoded.length * 3 > NAME_BYTES_MAX && Buffer.byteLength(encoded) > NAME_BYTES_MAX) {
    throw new Error(`A name exceeds ${NAME_BYTES_MAX} bytes: ${name.slice(0, 100)}…`);
  }
  return encoded;
}

/**
 * The arguments of `commit_batch` after the batch's id. The lists of a single group are sent as they are, the lists of
 * several groups as lists of lists.
 */
export function encodeGroups(groups: readonly TransactionGroup[]): BatchValue[] {
  const [headTexts, eventTexts] = [new TextBuffer(), new TextBuffer()];
  const groupLists = groups.map((group) => new GroupLists(group, headTexts, eventTexts));
  const [{ lists }] = groupLists as [GroupLists];
  const names = Object.keys(lists) as (keyof typeof lists)[];
  const projects = new Map(
    groupLists.map(({ header: { tenant_id, project_id } }) => {
      return [`${tenant_id}\n${project_id}`, [tenant_id, project_id]];
    }),
  );
  return [
    groups.length,
    JSON.stringify([...projects].sort(byName).map(([, key]) => key)),
    JSON.stringify(groupLists.map(({ header }) => header)),
    ...names.map((name) =>
      JSON.stringify(groupLists.length === 1 ? lists[name] : groupLists.map((each) => each.lists[name])),
    ),
    headTexts.joined(),
    eventTexts.joined(),
  ];
}

/** A row of `batch`: the result of a group. */
export interface GroupRow {
  /** The position before the group. */
  readonly position: number;
  readonly rules_seq: number;
  readonly now_ms: number;
  /** A JSON object with the kind of each refused transaction, by its number; `full` is followed by the scope. */
  readonly refused: string | null;
  /** The numbers of the events that were written; null: all. */
  readonly kept: string | null;
}

/** A head or a request that caused a refusal. The column `run` is the index of its group. */
export interface RefusalRow {
  readonly run: number;
  readonly head?: Buffer;
  readonly request_key?: Buffer;
  readonly digest?: Buffer;
  readonly reply?: Buffer | null;
  readonly first_position?: number;
  readonly position_count?: number;
}

export function decodeGroup(
  { transactions }: TransactionGroup,
  row: GroupRow,
  refusalRows: readonly RefusalRow[],
): CommitOutcome[] {
  const refused = row.refused === null ? {} : (JSON.parse(row.refused) as Record<string, string>);
  const positionOf = positionsOf(row);
  const heads = refusalRows.flatMap(({ head }) =>
    head === undefined ? [] : [JSON.parse(String(head)) as StoredHead],
  );
  const requests = refusalRows.flatMap((row) => (row.head === undefined ? [requestOf(row)] : []));
  const causes: RefusalCauses = {
    heads: new Map(heads.map((head) => [head.subject, head])),
    requests: new Map(requests.map((request) => [request.key, request])),
  };
  let eventsBefore = 0;
  return transactions.map((transaction, at) => {
    const swapEventCount = transaction.swaps.reduce((sum, swap) => sum + swap.events.length, 0);
    const from = eventsBefore;
    const sentLooseEvents = distinctLooseEvents(transaction);
    eventsBefore += swapEventCount + sentLooseEvents.length;
    const kind = refused[at];
    if (kind !== undefined) return decodeRefusal(transaction, kind, row, causes);
    const swapPositions = Array.from({ length: swapEventCount }, (_, index) => positionOf(from + 1 + index));
    // A loose event that occurs twice in a transaction is sent once; the second gets null.
    const loosePositions = transaction.loose_events.map((looseEvent) => {
      const index = sentLooseEvents.indexOf(looseEvent);
      return index === -1 ? null : positionOf(from + swapEventCount + 1 + index);
    });
    const positions = [...swapPositions, ...loosePositions];
    return { kind: 'committed', positions, rules_seq: row.rules_seq, now_ms: row.now_ms };
  });
}

function positionsOf({ position, kept }: GroupRow): (eventNumber: number) => number | null {
  if (kept === null) return (eventNumber) => position + eventNumber;
  const positionByNumber = new Map(
    kept.split(',').map((eventNumber, index) => [Number(eventNumber), position + 1 + index]),
  );
  return (eventNumber) => positionByNumber.get(eventNumber) ?? null;
}

/** The heads and requests that caused the refusals of a group, by name. */
interface RefusalCauses {
  readonly heads: ReadonlyMap<string, StoredHead>;
  readonly requests: ReadonlyMap<string, CompletedRequest>;
}

function decodeRefusal(
  { swaps, checks, requests }: Transaction,
  kind: string,
  { now_ms, rules_seq }: GroupRow,
  causes: RefusalCauses,
): CommitOutcome {
  if (kind === 'early' || kind === 'late') return { kind, now_ms };
  if (kind === 'replay') {
    const [request] = requests.flatMap(({ key }) => causes.requests.get(key) ?? []);
    if (request !== undefined) return { kind, request, now_ms };
    throw new Error('The request that a transaction repeats is missing from the outcome of its group.');
  }
  if (kind !== 'conflict') return { kind: 'full', scope: decodeName(kind.slice('full '.length)), now_ms };
  const heads = [...swaps, ...checks].map(({ subject }) => ({
    subject,
    head: causes.heads.get(subject) ?? null,
  }));
  return { kind, heads, rules_seq, now_ms };
}

const requestOf = ({ reply, position_count, ...row }: RefusalRow): CompletedRequest => ({
  key: decodeName(String(row.request_key)),
  digest: decodeName(String(row.digest)),
  reply: reply == null ? undefined : JSON.parse(String(reply)),
  positions: Array.from({ length: position_count ?? 0 }, (_, index) => Number(row.first_position) + index),
});
