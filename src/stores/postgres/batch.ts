import { msOf, type NewEvent } from '../../core/events/envelope.js';
import type { CommitOutcome, CompletedRequest, RequestRecord, StoredHead, Transaction } from '../store.js';
import { assertWellFormed } from '../well-formed.js';
import { INT64_MAX, OUTCOME_CODE } from './commit-script.js';

/** Numbers distinct keys 1, 2, 3 … in order of appearance. */
class KeyNumbering {
  private readonly numbers = new Map<string, number>();

  /** `onNew` is called if the key is new. */
  numberOf(key: string, onNew: () => void): number {
    const existing = this.numbers.get(key);
    if (existing !== undefined) return existing;
    onNew();
    const number = this.numbers.size + 1;
    this.numbers.set(key, number);
    return number;
  }
}

/** A batch as the commit function takes it, column by column, and the decoder of its reply. */
export class CommitBatch {
  private readonly script: (number | string)[] = [];

  private readonly projectNumbers = new KeyNumbering();
  private readonly tenants: string[] = [];
  private readonly projects: string[] = [];

  private readonly subjectNumbers = new KeyNumbering();
  private readonly subjectProjects: number[] = [];
  private readonly subjects: string[] = [];

  private readonly scopeNumbers = new KeyNumbering();
  private readonly scopeTenants: string[] = [];
  private readonly scopes: string[] = [];
  private readonly scopeTakes: number[] = [];
  private readonly scopeMax: number[] = [];

  private readonly permitNumbers = new KeyNumbering();
  private readonly permitProjects: number[] = [];
  private readonly permitScopes: number[] = [];
  private readonly members: string[] = [];

  private readonly requestNumbers = new KeyNumbering();
  private readonly requestProjects: number[] = [];
  private readonly requestKeys: string[] = [];

  private readonly looseEventNumbers = new KeyNumbering();
  private readonly looseEventProjects: number[] = [];
  private readonly looseEventIds: string[] = [];

  private readonly heads: StoredHead[] = [];
  private readonly keptProjects: number[] = [];
  private readonly keptRequests: RequestRecord[] = [];
  /** By kept request: the transaction it belongs to. */
  private readonly keptTransactions: number[] = [];
  private readonly eventProjects: number[] = [];
  private readonly events: NewEvent[] = [];

  constructor(private readonly transactions: readonly Transaction[]) {
    for (const transaction of transactions) assertWellFormed(transaction);
    for (const [index, transaction] of transactions.entries()) this.add(transaction, index);
  }

  /** In the order of the commit function's parameters, after the batch's id. */
  values(): unknown[] {
    const { events } = this;
    return [
      numbers(this.script),
      names(this.tenants),
      names(this.projects),
      numbers(this.subjectProjects),
      names(this.subjects),
      names(this.scopeTenants),
      names(this.scopes),
      numbers(this.scopeTakes),
      numbers(this.scopeMax.map(wholeMs)),
      numbers(this.permitProjects),
      numbers(this.permitScopes),
      names(this.members),
      numbers(this.requestProjects),
      names(this.requestKeys),
      numbers(this.looseEventProjects),
      names(this.looseEventIds),
      bodies(this.heads),
      numbers(this.keptProjects),
      names(this.keptRequests.map(({ key }) => key)),
      bodies(this.keptRequests.map(({ digest, reply }) => ({ digest, reply }))),
      numbers(this.eventProjects),
      numbers(events.map(({ timestamp }) => timeOf(timestamp))),
      names(events.map((event) => event.event_type)),
      names(events.map((event) => event.subject)),
      names(events.map((event) => event.task_id)),
      names(events.map((event) => event.feature_id)),
      names(events.map((event) => event.edge)),
      names(events.map((event) => event.agent_id)),
      names(events.map((event) => event.session_id)),
      bodies(events.map(withoutColumns)),
    ];
  }

  /** Decodes the reply of `commit_batch`, transaction by transaction. */
  outcomes(reply: string): CommitOutcome[] {
    const [now, codes = '', positions = '', ...lines] = reply.split('\n');
    const reader: CommitReply = {
      now_ms: Number(now),
      codes: new NumberReader(codes),
      positions: new NumberReader(positions),
      rows: new CommitReplyRows(lines),
    };
    const outcomes: CommitOutcome[] = [];
    for (const transaction of this.transactions) outcomes.push(this.outcome(transaction, reader, outcomes));
    return outcomes;
  }

  private outcome(
    transaction: Transaction,
    reply: CommitReply,
    before: readonly CommitOutcome[],
  ): CommitOutcome {
    const { now_ms, codes, rows } = reply;
    const positions = positionsOf(transaction, reply);
    switch (codes.next()) {
      case OUTCOME_CODE.replay:
        return {
          kind: 'replay',
          request: this.completedRequest(codes.next(), codes.next(), rows, before),
          now_ms,
        };
      case OUTCOME_CODE.conflict: {
        const rules_seq = codes.next();
        return { kind: 'conflict', heads: this.conflictHeads(transaction, codes, rows), rules_seq, now_ms };
      }
      case OUTCOME_CODE.early:
        return { kind: 'early', now_ms };
      case OUTCOME_CODE.late:
        return { kind: 'late', now_ms };
      case OUTCOME_CODE.full:
        return { kind: 'full', scope: this.scopes[codes.next() - 1] as string, now_ms };
      default:
        return { kind: 'committed', positions, rules_seq: codes.next(), now_ms };
    }
  }

  private conflictHeads(
    transaction: Transaction,
    codes: NumberReader,
    rows: CommitReplyRows,
  ): { subject: string; head: StoredHead | null }[] {
    const project = this.projectNumber(transaction);
    return [...transaction.swaps, ...transaction.checks].map(({ subject }) => {
      const swap = codes.next();
      const head =
        swap > 0
          ? (this.heads[swap - 1] as StoredHead)
          : (rows.heads.get(this.subjectNumber(project, subject)) ?? null);
      return { subject, head };
    });
  }

  /** `kept` is the request of this batch that was kept under the key; -1: the engine knew it before. */
  private completedRequest(
    number: number,
    kept: number,
    rows: CommitReplyRows,
    before: readonly CommitOutcome[],
  ): CompletedRequest {
    const key = this.requestKeys[number - 1] as string;
    if (kept === -1) return { key, ...(rows.requests.get(number) as Omit<CompletedRequest, 'key'>) };
    const { digest, reply } = this.keptRequests[kept - 1] as RequestRecord;
    const outcome = before[this.keptTransactions[kept - 1] as number] as CommitOutcome & {
      kind: 'committed';
    };
    return { key, digest, reply, positions: outcome.positions.filter((position) => position !== null) };
  }

  private add(transaction: Transaction, index: number): void {
    const project = this.projectNumber(transaction);
    const permits = lastPerMember(transaction);
    let swapEvents = 0;
    for (const { events } of transaction.swaps) swapEvents += events.length;
    const keeps = transaction.requests.some((request) => request.keep);
    const hasEffect =
      swapEvents + transaction.loose_events.length + transaction.permits.length > 0 ||
      keeps ||
      transaction.changes_rules;
    this.script.push(
      project,
      transaction.rules_seq ?? -1,
      transaction.changes_rules ? 1 : 0,
      wholeMs(transaction.not_before_ms ?? 0),
      wholeMs(transaction.not_after_ms ?? Number.POSITIVE_INFINITY),
      hasEffect ? 1 : 0,
      transaction.swaps.length,
      transaction.checks.length,
      transaction.requests.length,
      transaction.loose_events.length,
      permits.length,
      transaction.permit_limits.length,
      swapEvents,
    );
    this.addHeads(transaction, project);
    this.addRequests(transaction, project, index);
    this.addLooseEvents(transaction, project);
    this.addPermits(transaction, project, permits);
  }

  private addHeads(transaction: Transaction, project: number): void {
    for (const { subject, expected_seq, head, events } of transaction.swaps) {
      this.script.push(this.subjectNumber(project, subject), expected_seq, events.length);
      this.heads.push(head);
      for (const event of events) this.addEvent(project, event);
    }
    for (const { subject, expected_seq } of transaction.checks) {
      this.script.push(this.subjectNumber(project, subject), expected_seq);
    }
  }

  private addRequests(transaction: Transaction, project: number, index: number): void {
    for (const request of transaction.requests) {
      const number = this.requestNumbers.numberOf(`${project} ${request.key}`, () => {
        this.requestProjects.push(project);
        this.requestKeys.push(request.key);
      });
      this.script.push(number, request.keep ? 1 : 0);
      this.keptProjects.push(project);
      this.keptRequests.push(request);
      this.keptTransactions.push(index);
    }
  }

  private addLooseEvents(transaction: Transaction, project: number): void {
    for (const looseEvent of transaction.loose_events) {
      const number = this.looseEventNumbers.numberOf(`${project} ${looseEvent.event_id}`, () => {
        this.looseEventProjects.push(project);
        this.looseEventIds.push(looseEvent.event_id);
      });
      this.script.push(number);
      this.addEvent(project, looseEvent);
    }
  }

  private addPermits(transaction: Transaction, project: number, permits: Transaction['permits']): void {
    for (const { scope, member, until_ms } of permits) {
      const scopeNumber = this.scopeNumber(transaction.tenant_id, scope);
      const permitNumber = this.permitNumbers.numberOf(`${project} ${scopeNumber} ${member}`, () => {
        this.permitProjects.push(project);
        this.permitScopes.push(scopeNumber);
        this.members.push(member);
      });
      this.script.push(permitNumber, wholeMs(until_ms ?? 0));
      this.scopeTakes[scopeNumber - 1] = (this.scopeTakes[scopeNumber - 1] as number) + 1;
    }
    for (const { scope, max } of transaction.permit_limits) {
      const scopeNumber = this.scopeNumber(transaction.tenant_id, scope);
      this.script.push(scopeNumber, wholeMs(max));
      this.scopeMax[scopeNumber - 1] = Math.min(this.scopeMax[scopeNumber - 1] as number, max);
    }
  }

  private addEvent(project: number, event: NewEvent): void {
    this.eventProjects.push(project);
    this.events.push(event);
  }

  private projectNumber({ tenant_id, project_id }: Transaction): number {
    return this.projectNumbers.numberOf(`${tenant_id}\n${project_id}`, () => {
      this.tenants.push(tenant_id);
      this.projects.push(project_id);
    });
  }

  private subjectNumber(project: number, subject: string): number {
    return this.subjectNumbers.numberOf(`${project} ${subject}`, () => {
      this.subjectProjects.push(project);
      this.subjects.push(subject);
    });
  }

  private scopeNumber(tenantId: string, scope: string): number {
    return this.scopeNumbers.numberOf(`${tenantId}\n${scope}`, () => {
      this.scopeTenants.push(tenantId);
      this.scopes.push(scope);
      this.scopeTakes.push(0);
      this.scopeMax.push(Number.POSITIVE_INFINITY);
    });
  }
}

interface CommitReply {
  readonly now_ms: number;
  readonly codes: NumberReader;
  readonly positions: NumberReader;
  readonly rows: CommitReplyRows;
}

/** For every event of the transaction; null for one that was not written. */
function positionsOf(
  { swaps, loose_events: looseEvents }: Transaction,
  reply: CommitReply,
): (number | null)[] {
  const positions: (number | null)[] = [];
  for (const { events } of swaps) for (const _ of events) positions.push(reply.positions.next() || null);
  for (const _ of looseEvents) positions.push(reply.positions.next() || null);
  return positions;
}

/** Heads and requests from before the batch, by the numbers of subjects and requests. */
class CommitReplyRows {
  readonly heads = new Map<number, StoredHead>();
  readonly requests = new Map<number, Omit<CompletedRequest, 'key'>>();

  constructor(lines: readonly string[]) {
    for (const line of lines) {
      if (line.startsWith('h ')) this.addHead(line);
      else this.addRequest(line);
    }
  }

  private addHead(line: string): void {
    const [, number] = line.split(' ', 2);
    this.heads.set(Number(number), JSON.parse(line.slice(`h ${number} `.length)));
  }

  private addRequest(line: string): void {
    const [, number, first, events] = line.split(' ', 4);
    const body = line.slice(`r ${number} ${first} ${events} `.length);
    const { digest, reply } = JSON.parse(body) as { digest: string; reply?: unknown };
    const positions = Array.from({ length: Number(events) }, (_, index) => Number(first) + index);
    this.requests.set(Number(number), { digest, reply, positions });
  }
}

/** Reads space-separated numbers one by one. */
class NumberReader {
  private readonly numerals: readonly string[];
  private at = 0;

  constructor(text: string) {
    this.numerals = text.split(' ');
  }

  next(): number {
    const numeral = this.numerals[this.at];
    if (numeral === undefined)
      throw new Error('The answer of the commit function is shorter than its batch.');
    this.at += 1;
    return Number(numeral);
  }
}

/** The last entry per member wins. */
function lastPerMember({ permits }: Transaction): Transaction['permits'] {
  if (permits.length < 2) return permits;
  const last = new Map(permits.map((permit) => [`${permit.scope}\n${permit.member}`, permit]));
  return last.size === permits.length ? permits : [...last.values()];
}

/** The engine counts whole milliseconds; rounding up gives the same comparisons. */
function wholeMs(ms: number): number | string {
  return ms > Number.MAX_SAFE_INTEGER ? INT64_MAX : Math.ceil(ms);
}

function timeOf(timestamp: string): number | string {
  const atMs = msOf(timestamp);
  return Number.isNaN(atMs) ? 'NULL' : atMs;
}

/** The event without the fields that have columns; `eventFromRow` adds them back. */
export function withoutColumns(event: NewEvent): Partial<NewEvent> {
  const {
    tenant_id,
    project_id,
    event_type,
    subject,
    task_id,
    feature_id,
    edge,
    agent_id,
    session_id,
    ...rest
  } = event;
  return rest;
}

const numbers = (list: readonly (number | string)[]): string => `{${list.join()}}`;

/** Line-separated: encoded JSON contains no line feed. */
const bodies = (list: readonly unknown[]): string => list.map((value) => JSON.stringify(value)).join('\n');

/** Line-separated; an empty line is no name. Ids contain neither line feeds nor NUL, which PostgreSQL cannot store. */
function names(list: readonly (string | undefined)[]): string {
  if (list.includes('')) throw new Error('PostgreSQL: a name is empty.');
  const lines = list.join('\n');
  if (lines.includes('\0') || lines.split('\n').length > Math.max(list.length, 1)) {
    throw new Error('PostgreSQL: a name has a line feed or a NUL in it.');
  }
  return lines;
}
