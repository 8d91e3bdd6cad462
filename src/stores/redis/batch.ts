import { msOf, type NewEvent } from '../../core/events/envelope.js';
import { NumberedRows } from '../numbered-rows.js';
import type { CommitOutcome, CompletedRequest, StoredHead, Transaction } from '../store.js';
import { INDEX_PREFIX, INDEXED_FIELDS, type RedisKeys } from './keys.js';

/** Later than any time, and a valid number in JSON, in Lua and in a sorted set. */
export const FOREVER_MS = 1e300;

/** The first number of an outcome. */
export const OUTCOME_CODE = { REPLAY: 1, CONFLICT: 2, EARLY: 3, LATE: 4, FULL: 5, COMMITTED: 6 } as const;

/** The arguments before the strings: the tape and the lineage. */
const BEFORE_STRINGS = 2;

/** Distinct names: a number plus the base of the list is the name's index in Lua. */
class NameTable extends NumberedRows<[name: string]> {
  get list(): string[] {
    return this.column(0);
  }
}

/** A project of the batch, and the names in it. */
const newProject = (key: string, projectNumber: number) => ({
  key,
  projectNumber,
  subjects: new NameTable(),
  requests: new NameTable(),
  looseEvents: new NameTable(),
  indexKeys: new NameTable(),
});
type ProjectNames = ReturnType<typeof newProject>;

const newScope = (key: string, scopeNumber: number) => ({ key, scopeNumber, members: new NameTable() });
type ScopeNames = ReturnType<typeof newScope>;

/** Encodes transactions of one tenant for the commit script. */
class BatchEncoder {
  private readonly numbers: number[] = [];
  private readonly texts: string[] = [];
  private readonly projects = new Map<string, ProjectNames>();
  private readonly scopes = new Map<string, ScopeNames>();

  constructor(private readonly keys: RedisKeys) {}

  /** Twelve numbers, the last of which is the length of the transaction; then its parts. */
  add(transaction: Transaction): void {
    const project = this.projectOf(transaction);
    const { numbers } = this;
    const start = numbers.length;
    numbers.push(
      project.projectNumber,
      transaction.rules_seq ?? -1,
      transaction.changes_rules ? 1 : 0,
      transaction.not_before_ms ?? 0,
      transaction.not_after_ms ?? FOREVER_MS,
      transaction.requests.length,
      transaction.swaps.length,
      transaction.checks.length,
      transaction.permits.length,
      transaction.permit_limits.length,
      transaction.loose_events.length,
      0,
    );
    this.addConditions(transaction, project);
    for (const swap of transaction.swaps) for (const event of swap.events) this.addEvent(event, project);
    for (const looseEvent of transaction.loose_events) {
      numbers.push(project.looseEvents.numberOf(looseEvent.event_id));
      this.addEvent(looseEvent, project);
    }
    numbers[start + 11] = numbers.length - start;
  }

  /** The header of the tape: the number of names of each kind, and where they begin. */
  finish(transactionCount: number, lineage: string): (string | Buffer)[] {
    const strings: string[] = [];
    const put = (more: readonly string[]): number => {
      const base = strings.length + BEFORE_STRINGS;
      for (const string of more) strings.push(string);
      return base;
    };
    const putOne = (string: string): number => put([string]) + 1;
    const header: number[] = [];
    for (const [projectId, { key, subjects, requests, looseEvents, indexKeys }] of this.projects) {
      header.push(putOne(key), putOne(projectId), put(indexKeys.list));
      for (const { list } of [subjects, requests, looseEvents]) header.push(put(list), list.length);
    }
    for (const [scope, { key, members }] of this.scopes) {
      header.push(putOne(key), putOne(scope), put(members.list), members.list.length);
    }
    const counts = [this.projects.size, this.scopes.size, transactionCount];
    const tape = packDoubles([...counts, put(this.texts), ...header].concat(this.numbers));
    return [tape, lineage, ...strings];
  }

  private addConditions(transaction: Transaction, project: ProjectNames): void {
    const { numbers } = this;
    for (const { key, digest, keep, reply } of transaction.requests) {
      const text = keep ? this.texts.push(JSON.stringify({ key, digest, reply })) : 0;
      numbers.push(project.requests.numberOf(key), text);
    }
    for (const { subject, expected_seq, head, events } of transaction.swaps) {
      const text = this.texts.push(`${head.seq} ${JSON.stringify(head)}`);
      numbers.push(project.subjects.numberOf(subject), expected_seq, text, events.length);
    }
    for (const { subject, expected_seq } of transaction.checks) {
      numbers.push(project.subjects.numberOf(subject), expected_seq);
    }
    for (const { scope: name, member, until_ms } of transaction.permits) {
      const scope = this.scopeOf(transaction, name);
      const memberNumber = scope.members.numberOf(`${transaction.project_id}\u0000${member}`);
      numbers.push(scope.scopeNumber, memberNumber, Math.min(until_ms ?? 0, FOREVER_MS));
    }
    for (const { scope, max } of transaction.permit_limits)
      numbers.push(this.scopeOf(transaction, scope).scopeNumber, max);
  }

  /** The event's text, its time, and its index lists. */
  private addEvent(event: NewEvent, project: ProjectNames): void {
    const indexes = INDEXED_FIELDS.flatMap((field) => {
      const value = event[field];
      // An event on a task's own head is found by its subject, so its position is not indexed twice.
      if (value === undefined || (field === 'task_id' && value === event.subject)) return [];
      return project.indexKeys.numberOf(`${project.key}:by:${INDEX_PREFIX[field]}${value}`);
    });
    const text = this.texts.push(JSON.stringify(event));
    this.numbers.push(text, msOf(event.timestamp), indexes.length, ...indexes);
  }

  private projectOf(transaction: Transaction): ProjectNames {
    const { project_id } = transaction;
    const project =
      this.projects.get(project_id) ?? newProject(this.keys.project(transaction), this.projects.size + 1);
    this.projects.set(project_id, project);
    return project;
  }

  private scopeOf({ tenant_id }: Transaction, name: string): ScopeNames {
    const scope = this.scopes.get(name) ?? newScope(this.keys.permits(tenant_id, name), this.scopes.size + 1);
    this.scopes.set(name, scope);
    return scope;
  }
}

const ARRAY_32 = 0xdd;
const FLOAT_64 = 0xcb;

/** One MessagePack array of doubles, which Lua reads without parsing text. */
function packDoubles(numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(5 + 9 * numbers.length);
  bytes.writeUInt8(ARRAY_32);
  bytes.writeUInt32BE(numbers.length, 1);
  let at = 5;
  for (const value of numbers) {
    bytes.writeUInt8(FLOAT_64, at);
    bytes.writeDoubleBE(value, at + 1);
    at += 9;
  }
  return bytes;
}

/** The arguments of the commit script for transactions of one tenant. */
export function encodeBatch(
  keys: RedisKeys,
  transactions: readonly Transaction[],
  lineage: string,
): (string | Buffer)[] {
  const encoder = new BatchEncoder(keys);
  for (const transaction of transactions) encoder.add(transaction);
  return encoder.finish(transactions.length, lineage);
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
      return { kind: 'replay', request: requestFromStored(rest[0] as string), now_ms };
    case OUTCOME_CODE.CONFLICT: {
      const [rules_seq, ...stored] = rest as [number, ...string[]];
      const heads = [...swaps, ...checks].map(({ subject }, index) => ({
        subject,
        head: headFromStored(stored[index] || null),
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

/** A head is stored after its seq, the only part that the script reads. */
export function headFromStored(kept: string | null): StoredHead | null {
  return kept === null ? null : JSON.parse(kept.slice(kept.indexOf(' ') + 1));
}

/** A request is stored after the positions that its transaction took. */
function requestFromStored(kept: string): CompletedRequest {
  const end = kept.indexOf('\n');
  const positions = end === 0 ? [] : kept.slice(0, end).split(',').map(Number);
  const { key, digest, reply } = JSON.parse(kept.slice(end + 1));
  return { key, digest, reply, positions };
}
