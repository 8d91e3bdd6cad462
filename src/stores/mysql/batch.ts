import { msOf, type NewEvent } from '../../core/events/envelope.js';
import type {
  CommitOutcome,
  CompletedRequest,
  Permit,
  RequestRecord,
  StoredHead,
  Transaction,
} from '../store.js';
import { decodeName, encodeName, NAME_BYTES_MAX } from './name-encoding.js';

/** JSON has no Infinity; this stands for a permit that never expires. */
const FOREVER_MS = Number.MAX_SAFE_INTEGER;

/**
 * Transactions of one project that do not depend on each other, so that all of them can be decided on the state before
 * the first, and written together.
 */
export interface TransactionRun {
  readonly transactions: readonly Transaction[];
}

/** Splits a batch into runs, in order. Independent transactions form one run. */
export function runsOf(transactions: readonly Transaction[]): TransactionRun[] {
  const runs: OpenRun[] = [];
  for (const transaction of transactions) {
    const last = runs.at(-1);
    if (last?.accepts(transaction)) last.add(transaction);
    else runs.push(new OpenRun(transaction));
  }
  return runs;
}

class OpenRun implements TransactionRun {
  readonly transactions: Transaction[] = [];
  private readonly swappedSubjects = new Set<string>();
  private readonly requestKeys = new Set<string>();
  private readonly looseEventIds = new Set<string>();

  constructor(first: Transaction) {
    this.add(first);
  }

  /** Permits do not matter here: the procedure takes them in transaction order where that can make a difference. */
  accepts(transaction: Transaction): boolean {
    const first = this.transactions[0] as Transaction;
    return (
      transaction.tenant_id === first.tenant_id &&
      transaction.project_id === first.project_id &&
      !first.changes_rules &&
      !transaction.changes_rules &&
      !transaction.swaps.some(({ subject }) => this.swappedSubjects.has(subject)) &&
      !transaction.checks.some(({ subject }) => this.swappedSubjects.has(subject)) &&
      !transaction.requests.some(({ key }) => this.requestKeys.has(key)) &&
      !transaction.loose_events.some(({ event_id }) => this.looseEventIds.has(event_id))
    );
  }

  add(transaction: Transaction): void {
    this.transactions.push(transaction);
    for (const { subject } of transaction.swaps) this.swappedSubjects.add(subject);
    for (const { key } of transaction.requests) this.requestKeys.add(key);
    for (const { event_id } of transaction.loose_events) this.looseEventIds.add(event_id);
  }
}

/** The texts of the whole batch, concatenated; a row of a list refers to its text by offset and length. */
class TextBuffer {
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

/** The lists of one run, as the procedure reads them; the columns are defined in commit-script.ts. */
class RunLists {
  readonly run: Record<string, unknown>;
  readonly units: unknown[] = [];
  readonly touched: unknown[] = [];
  readonly heads: unknown[] = [];
  readonly numbers: unknown[] = [];
  readonly events: unknown[] = [];
  readonly requests: unknown[] = [];
  readonly slots: unknown[] = [];
  readonly rooms: unknown[] = [];
  private readonly scopesByName = new Map<string, { takes: number; room: number | null }>();
  private hasLooseEvents = 0;
  private hasReleases = 0;
  private keptRequests = 0;

  constructor(
    { transactions }: TransactionRun,
    private readonly headTexts: TextBuffer,
    private readonly eventTexts: TextBuffer,
  ) {
    for (const [number, transaction] of transactions.entries()) this.add(number, transaction);
    const { tenant_id, project_id, changes_rules } = transactions[0] as Transaction;
    this.run = {
      tenant_id: checkedName(tenant_id),
      project_id: checkedName(project_id),
      events: this.events.length,
      has_notes: this.hasLooseEvents,
      has_frees: this.hasReleases,
      kept_requests: this.keptRequests,
      rules_changes: changes_rules ? 1 : 0,
    };
  }

  /** Sorted, so that all callers lock scopes in the same order. */
  get scopes(): unknown[] {
    const sorted = [...this.scopesByName].sort(([a], [b]) => (a < b ? -1 : 1));
    return sorted.map(([scope, { takes, room }]) => [scope, takes, room]);
  }

  private add(number: number, transaction: Transaction): void {
    const first = this.events.length + 1;
    this.units.push([number, transaction.rules_seq, transaction.not_before_ms, transaction.not_after_ms]);
    for (const { subject, expected_seq, head, events } of transaction.swaps) {
      const name = checkedName(subject);
      this.touched.push([number, name, expected_seq]);
      this.heads.push([number, name, head.seq, ...this.headTexts.add(head)]);
      for (const event of events) this.addEvent(number, event, null);
    }
    for (const { subject, expected_seq } of transaction.checks) {
      this.touched.push([number, checkedName(subject), expected_seq]);
    }
    for (const looseEvent of distinctLooseEvents(transaction))
      this.addEvent(number, looseEvent, checkedName(looseEvent.event_id));
    const span: [number, number] = [first, this.events.length + 1 - first];
    for (const request of transaction.requests) this.addRequest(number, request, span);
    if (transaction.permits.length > 0) this.addPermits(number, transaction);
  }

  private addEvent(transactionNumber: number, event: NewEvent, looseEventId: string | null): void {
    const number = this.events.length + 1;
    if (looseEventId !== null) this.hasLooseEvents = 1;
    this.numbers.push([transactionNumber, number, looseEventId]);
    const atMs = msOf(event.timestamp);
    this.events.push([
      number,
      ...this.eventTexts.add(event),
      Number.isNaN(atMs) ? null : atMs,
      checkedName(event.event_type),
      optionalName(event.subject),
      optionalName(event.task_id),
      optionalName(event.feature_id),
      optionalName(event.edge),
      optionalName(event.agent_id),
      optionalName(event.session_id),
    ]);
  }

  private addRequest(
    transactionNumber: number,
    { key, digest, keep, reply }: RequestRecord,
    span: [number, number],
  ): void {
    const number = keep ? ++this.keptRequests : null;
    const replyText = reply === undefined ? null : JSON.stringify(reply);
    this.requests.push([
      transactionNumber,
      number,
      checkedName(key),
      checkedName(digest),
      replyText,
      ...span,
    ]);
  }

  private addPermits(transactionNumber: number, { permits, permit_limits: permitLimits }: Transaction): void {
    const permitRows = lastPerMember(permits);
    for (const [scope, , untilMs] of permitRows) {
      const usage = this.scopesByName.get(scope) ?? { takes: 0, room: null };
      this.scopesByName.set(scope, usage);
      if (untilMs === 0) this.hasReleases = 1;
      else usage.takes += 1;
    }
    const limitRows: [string, number][] = permitLimits.map(({ scope, max }) => [
      checkedName(scope),
      Math.min(max, FOREVER_MS),
    ]);
    for (const [scope, max] of limitRows) {
      const usage = this.scopesByName.get(scope);
      if (usage !== undefined) usage.room = Math.min(usage.room ?? max, max);
    }
    this.slots.push([transactionNumber, permitRows]);
    this.rooms.push(limitRows);
  }
}

type PermitRow = [scope: string, member: string, until_ms: number];

function lastPerMember(permits: readonly Permit[]): PermitRow[] {
  const permitRows = permits.map(({ scope, member, until_ms }): PermitRow => {
    return [checkedName(scope), checkedName(member), Math.max(0, Math.min(until_ms ?? 0, FOREVER_MS))];
  });
  return permitRows.filter(
    ([scope, member], at) =>
      !permitRows.slice(at + 1).some((later) => later[0] === scope && later[1] === member),
  );
}

/** The loose events of a transaction, without duplicates. */
function distinctLooseEvents({ loose_events: looseEvents }: Transaction): readonly NewEvent[] {
  if (looseEvents.length < 2) return looseEvents;
  return looseEvents.filter(
    ({ event_id }, at) => looseEvents.findIndex((looseEvent) => looseEvent.event_id === event_id) === at,
  );
}

function checkedName(name: string): string {
  const encoded = encodeName(name);
  if (encoded.length * 3 > NAME_BYTES_MAX && Buffer.byteLength(encoded) > NAME_BYTES_MAX) {
    throw new Error(`A name of more than ${NAME_BYTES_MAX} bytes: ${name.slice(0, 100)}…`);
  }
  return encoded;
}

const optionalName = (name: string | undefined): string | null =>
  name === undefined ? null : checkedName(name);

const LISTS = [
  'units',
  'touched',
  'heads',
  'numbers',
  'events',
  'requests',
  'scopes',
  'slots',
  'rooms',
] as const;

/**
 * The arguments of `commit_batch` after the batch's id. The lists of a single run are sent as they are, those of
 * several runs as lists of lists.
 */
export function encodeRuns(runs: readonly TransactionRun[]): (Buffer | string | number)[] {
  const [headTexts, eventTexts] = [new TextBuffer(), new TextBuffer()];
  const all = runs.map((run) => new RunLists(run, headTexts, eventTexts));
  const only = all.length === 1 ? all[0] : undefined;
  const lists = LISTS.map((name) => JSON.stringify(only?.[name] ?? all.map((run) => run[name])));
  const headers = all.map(({ run }) => run);
  return [
    runs.length,
    JSON.stringify(projectsOf(runs)),
    JSON.stringify(headers),
    ...lists,
    headTexts.joined(),
    eventTexts.joined(),
  ];
}

/** Without duplicates, and sorted: see `scopes`. */
function projectsOf(runs: readonly TransactionRun[]): [string, string][] {
  const keys = runs.map(({ transactions }): [string, string] => {
    const { tenant_id, project_id } = transactions[0] as Transaction;
    return [checkedName(tenant_id), checkedName(project_id)];
  });
  const once = new Map(keys.map((key) => [key.join('\n'), key]));
  return [...once].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, key]) => key);
}

/** A row of `batches`: the result of a run. */
export interface RunRow {
  /** Before the run. */
  readonly position: number;
  readonly rules_seq: number;
  readonly now_ms: number;
  /** The refused transactions: number to kind, `full` followed by the scope. */
  readonly refused: string | null;
  /** The numbers of the events that were written; null: all. */
  readonly kept: string | null;
}

/** A head or a request that caused a refusal, by run. */
export interface RefusalRow {
  readonly run: number;
  readonly head?: string;
  readonly request_key?: Buffer;
  readonly digest?: Buffer;
  readonly reply?: string | null;
  readonly first_position?: number;
  readonly position_count?: number;
}

export function decodeRun(
  { transactions }: TransactionRun,
  row: RunRow,
  shownRows: readonly RefusalRow[],
): CommitOutcome[] {
  const refused = row.refused === null ? {} : (JSON.parse(row.refused) as Record<string, string>);
  const positionOf = positions(row);
  const refusalRows = new RefusalRows(shownRows);
  let number = 0;
  return transactions.map((transaction, at) => {
    const swapped = transaction.swaps.reduce((sum, swap) => sum + swap.events.length, 0);
    const from = number;
    number += swapped + distinctLooseEvents(transaction).length;
    const kind = refused[at];
    if (kind !== undefined) return decodeRefusal(transaction, kind, row, refusalRows);
    const swapPositions = Array.from({ length: swapped }, (_, index) => positionOf(from + 1 + index));
    return {
      kind: 'committed',
      positions: [
        ...swapPositions,
        ...looseEventPositions(transaction, (index) => positionOf(from + swapped + 1 + index)),
      ],
      rules_seq: row.rules_seq,
      now_ms: row.now_ms,
    };
  });
}

function positions({ position, kept }: RunRow): (number: number) => number | null {
  if (kept === null) return (number) => position + number;
  const of = new Map(kept.split(',').map((number, index) => [Number(number), position + 1 + index]));
  return (number) => of.get(number) ?? null;
}

/** A loose event that occurs twice in a transaction is sent once; the second gets null. */
function looseEventPositions(
  transaction: Transaction,
  positionAt: (index: number) => number | null,
): (number | null)[] {
  const sent = distinctLooseEvents(transaction);
  return transaction.loose_events.map((looseEvent) => {
    const index = sent.indexOf(looseEvent);
    return index === -1 ? null : positionAt(index);
  });
}

function decodeRefusal(
  transaction: Transaction,
  kind: string,
  { now_ms, rules_seq }: RunRow,
  refusalRows: RefusalRows,
): CommitOutcome {
  if (kind === 'early' || kind === 'late') return { kind, now_ms };
  if (kind === 'replay') return { kind, request: refusalRows.firstCompleted(transaction), now_ms };
  if (kind !== 'conflict') return { kind: 'full', scope: decodeName(kind.slice('full '.length)), now_ms };
  const heads = [...transaction.swaps, ...transaction.checks].map(({ subject }) => ({
    subject,
    head: refusalRows.head(subject),
  }));
  return { kind, heads, rules_seq, now_ms };
}

/** The heads and requests that caused the refusals of a run, by name. */
class RefusalRows {
  private readonly heads = new Map<string, StoredHead>();
  private readonly requests = new Map<string, CompletedRequest>();

  constructor(shown: readonly RefusalRow[]) {
    for (const row of shown) {
      if (row.head !== undefined) {
        const head = JSON.parse(row.head) as StoredHead;
        this.heads.set(head.subject, head);
      } else {
        const request = requestOf(row as Required<RefusalRow>);
        this.requests.set(request.key, request);
      }
    }
  }

  head(subject: string): StoredHead | null {
    return this.heads.get(subject) ?? null;
  }

  firstCompleted({ requests }: Transaction): CompletedRequest {
    for (const { key } of requests) {
      const known = this.requests.get(key);
      if (known !== undefined) return known;
    }
    throw new Error('The request that a unit repeats is missing from the outcome of its run.');
  }
}

const requestOf = (row: Required<RefusalRow>): CompletedRequest => ({
  key: decodeName(String(row.request_key)),
  digest: decodeName(String(row.digest)),
  reply: row.reply === null ? undefined : JSON.parse(row.reply),
  positions: Array.from({ length: row.position_count }, (_, index) => row.first_position + index),
});
