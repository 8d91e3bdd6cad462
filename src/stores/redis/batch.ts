import { msOf, type NewEvent } from '../../core/events/envelope.js';
import type { CommitOutcome, CompletedRequest, ProjectKey, StoredHead, Transaction } from '../store.js';
import { COMMITTED, CONFLICT, EARLY, FOREVER_MS, FULL, LATE, REPLAY } from './commit-script.js';
import { INDEX_PREFIX, type RedisKeys, TYPE_INDEX_PREFIX } from './keys.js';

const INDEXED_FIELDS = Object.keys(INDEX_PREFIX) as (keyof typeof INDEX_PREFIX)[];
/** The arguments before the strings: the tape and the lineage. */
const BEFORE_STRINGS = 2;

/** Distinct names with their numbers: a number plus the base of the list is the name's index in Lua. */
class NameTable {
  readonly list: string[] = [];
  private readonly numbers = new Map<string, number>();

  numberOf(name: string): number {
    const existing = this.numbers.get(name);
    if (existing !== undefined) return existing;
    const number = this.list.push(name);
    this.numbers.set(name, number);
    return number;
  }
}

class ProjectNames {
  readonly subjects = new NameTable();
  readonly requests = new NameTable();
  readonly looseEvents = new NameTable();
  readonly index_values = new NameTable();

  constructor(
    readonly number: number,
    readonly key: string,
    readonly project_id: string,
  ) {}

  get index_keys(): string[] {
    return this.index_values.list.map((value) => `${this.key}:by:${value}`);
  }
}

class ScopeNames {
  readonly members = new NameTable();

  constructor(
    readonly number: number,
    readonly key: string,
    readonly scope: string,
  ) {}
}

/** Encodes transactions of one tenant for the commit script. */
class BatchEncoder {
  private readonly numbers: number[] = [];
  private readonly texts: string[] = [];
  private count = 0;
  private readonly projects = new Map<string, ProjectNames>();
  private readonly scopes = new Map<string, ScopeNames>();

  constructor(private readonly keys: RedisKeys) {}

  /** Twelve numbers, the last of which is the length of the transaction; then its parts. */
  add(transaction: Transaction): void {
    const project = this.projectOf(transaction);
    const numbers = this.numbers;
    const start = numbers.length;
    numbers.push(
      project.number,
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
  finish(lineage: string): (string | Buffer)[] {
    const strings: string[] = [];
    const put = (more: readonly string[]): number => {
      const base = strings.length + BEFORE_STRINGS;
      for (const string of more) strings.push(string);
      return base;
    };
    const putOne = (string: string): number => put([string]) + 1;
    const header: number[] = [];
    for (const { key, project_id, subjects, requests, looseEvents, index_keys } of this.projects.values()) {
      header.push(putOne(key), putOne(project_id), put(index_keys));
      for (const { list } of [subjects, requests, looseEvents]) header.push(put(list), list.length);
    }
    for (const { key, scope, members } of this.scopes.values()) {
      header.push(putOne(key), putOne(scope), put(members.list), members.list.length);
    }
    const counts = [this.projects.size, this.scopes.size, this.count];
    const tape = packDoubles([...counts, put(this.texts), ...header], this.numbers);
    return [tape, lineage, ...strings];
  }

  private addConditions(transaction: Transaction, project: ProjectNames): void {
    const numbers = this.numbers;
    this.count += 1;
    for (const { key, digest, keep, reply } of transaction.requests) {
      numbers.push(
        project.requests.numberOf(key),
        keep ? this.text(JSON.stringify({ key, digest, reply })) : 0,
      );
    }
    for (const { subject, expected_seq, head, events } of transaction.swaps) {
      const text = this.text(`${head.seq} ${JSON.stringify(head)}`);
      numbers.push(project.subjects.numberOf(subject), expected_seq, text, events.length);
    }
    for (const { subject, expected_seq } of transaction.checks) {
      numbers.push(project.subjects.numberOf(subject), expected_seq);
    }
    for (const { scope: name, member, until_ms } of transaction.permits) {
      const scope = this.scopeOf(transaction, name);
      const memberNumber = scope.members.numberOf(`${transaction.project_id}\u0000${member}`);
      numbers.push(scope.number, memberNumber, Math.min(until_ms ?? 0, FOREVER_MS));
    }
    for (const { scope, max } of transaction.permit_limits)
      numbers.push(this.scopeOf(transaction, scope).number, max);
  }

  /** The event's text, its time, and its index lists. */
  private addEvent(event: NewEvent, project: ProjectNames): void {
    const numbers = this.numbers;
    const countAt = numbers.push(this.text(JSON.stringify(event)), msOf(event.timestamp), 0) - 1;
    this.addIndexed(TYPE_INDEX_PREFIX + event.event_type, project);
    for (const field of INDEXED_FIELDS) {
      const value = event[field];
      // An event on a task's own head is found by its subject, so its position is not indexed twice.
      if (value === undefined || (field === 'task_id' && value === event.subject)) continue;
      this.addIndexed(INDEX_PREFIX[field] + value, project);
    }
    numbers[countAt] = numbers.length - 1 - countAt;
  }

  private addIndexed(value: string, project: ProjectNames): void {
    this.numbers.push(project.index_values.numberOf(value));
  }

  private text(text: string): number {
    return this.texts.push(text);
  }

  private projectOf(key: ProjectKey): ProjectNames {
    const known = this.projects.get(key.project_id);
    if (known !== undefined) return known;
    const made = new ProjectNames(this.projects.size + 1, this.keys.project(key), key.project_id);
    this.projects.set(key.project_id, made);
    return made;
  }

  private scopeOf({ tenant_id }: ProjectKey, scope: string): ScopeNames {
    const known = this.scopes.get(scope);
    if (known !== undefined) return known;
    const made = new ScopeNames(this.scopes.size + 1, this.keys.permits(tenant_id, scope), scope);
    this.scopes.set(scope, made);
    return made;
  }
}

const ARRAY_32 = 0xdd;
const FLOAT_64 = 0xcb;

/** One MessagePack array of doubles, which Lua reads without parsing text. */
function packDoubles(...parts: readonly (readonly number[])[]): Buffer {
  const count = parts.reduce((sum, part) => sum + part.length, 0);
  const bytes = new DataView(new ArrayBuffer(5 + 9 * count));
  bytes.setUint8(0, ARRAY_32);
  bytes.setUint32(1, count);
  let at = 5;
  for (const part of parts) {
    for (const number of part) {
      bytes.setUint8(at, FLOAT_64);
      bytes.setFloat64(at + 1, number);
      at += 9;
    }
  }
  return Buffer.from(bytes.buffer);
}

/** The arguments of the commit script for transactions of one tenant. */
export function encodeBatch(
  keys: RedisKeys,
  transactions: readonly Transaction[],
  lineage: string,
): (string | Buffer)[] {
  const encoder = new BatchEncoder(keys);
  for (const transaction of transactions) encoder.add(transaction);
  return encoder.finish(lineage);
}

/** Decodes the script's reply: the time, then an outcome per transaction, whose first number is its kind. */
export function decodeOutcomes(reply: unknown, transactions: readonly Transaction[]): CommitOutcome[] {
  const [nowMs, ...outcomes] = reply as [number, ...(number | string)[][]];
  return outcomes.map(([kind, ...rest], index) =>
    decodeOutcome(kind as number, rest, transactions[index]!, nowMs),
  );
}

function decodeOutcome(
  kind: number,
  rest: (number | string)[],
  transaction: Transaction,
  now_ms: number,
): CommitOutcome {
  switch (kind) {
    case REPLAY:
      return { kind: 'replay', request: requestFromStored(rest[0] as string), now_ms };
    case CONFLICT: {
      const [rules_seq, ...heads] = rest as [number, ...string[]];
      const subjects = [...transaction.swaps, ...transaction.checks].map(({ subject }) => subject);
      return {
        kind: 'conflict',
        heads: subjects.map((subject, at) => ({ subject, head: headFromStored(heads[at] || null) })),
        rules_seq,
        now_ms,
      };
    }
    case EARLY:
      return { kind: 'early', now_ms };
    case LATE:
      return { kind: 'late', now_ms };
    case FULL:
      return { kind: 'full', scope: rest[0] as string, now_ms };
    case COMMITTED: {
      const [rulesSeq, ...positions] = rest as number[];
      return {
        kind: 'committed',
        positions: positions.map((position) => (position === 0 ? null : position)),
        rules_seq: rulesSeq as number,
        now_ms,
      };
    }
    default:
      throw new Error(`The commit script answered with an outcome of kind ${kind}.`);
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
