import { msOf, type NewEvent } from '../../core/events/envelope.js';
import type { Outcome, ProjectKey, RememberedRequest, StoredHead, Unit } from '../store.js';
import { COMMITTED, CONFLICT, EARLY, FOREVER_MS, FULL, LATE, REPLAY } from './commit-script.js';
import { INDEXED, type Keys, TYPE_INDEX } from './keys.js';

const INDEXED_FIELDS = Object.keys(INDEXED) as (keyof typeof INDEXED)[];
/** The tape and the lineage stand before the strings. */
const BEFORE_STRINGS = 2;

/** Names, each once, known by the number under which Lua finds it behind the base of its list. */
class Names {
  readonly list: string[] = [];
  private readonly numbers = new Map<string, number>();

  number(name: string): number {
    const known = this.numbers.get(name);
    if (known !== undefined) return known;
    const number = this.list.push(name);
    this.numbers.set(name, number);
    return number;
  }
}

class ProjectNames {
  readonly subjects = new Names();
  readonly requests = new Names();
  readonly notes = new Names();
  readonly index_values = new Names();

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
  readonly members = new Names();

  constructor(
    readonly number: number,
    readonly key: string,
    readonly scope: string,
  ) {}
}

/** Writes units of one tenant as the commit script reads them. */
class TapeWriter {
  private readonly units: number[] = [];
  private readonly texts: string[] = [];
  private count = 0;
  private readonly projects = new Map<string, ProjectNames>();
  private readonly scopes = new Map<string, ScopeNames>();

  constructor(private readonly keys: Keys) {}

  /** Twelve numbers, of which the last is the length of the whole; then part after part. */
  add(unit: Unit): void {
    const project = this.projectOf(unit);
    const tape = this.units;
    const start = tape.length;
    tape.push(
      project.number,
      unit.rules_seq ?? -1,
      unit.changes_rules ? 1 : 0,
      unit.not_before_ms ?? 0,
      unit.not_after_ms ?? FOREVER_MS,
      unit.requests.length,
      unit.swaps.length,
      unit.checks.length,
      unit.slots.length,
      unit.rooms.length,
      unit.notes.length,
      0,
    );
    this.addConditions(unit, project);
    for (const swap of unit.swaps) for (const event of swap.events) this.addEvent(event, project);
    for (const note of unit.notes) {
      tape.push(project.notes.number(note.event_id));
      this.addEvent(note, project);
    }
    tape[start + 11] = tape.length - start;
  }

  /** The tape begins with what it speaks of: how many of each, and where their names stand. */
  end(lineage: string): (string | Buffer)[] {
    const strings: string[] = [];
    const put = (more: readonly string[]): number => {
      const base = strings.length + BEFORE_STRINGS;
      for (const string of more) strings.push(string);
      return base;
    };
    const one = (string: string): number => put([string]) + 1;
    const places: number[] = [];
    for (const { key, project_id, subjects, requests, notes, index_keys } of this.projects.values()) {
      places.push(one(key), one(project_id), put(index_keys));
      for (const { list } of [subjects, requests, notes]) places.push(put(list), list.length);
    }
    for (const { key, scope, members } of this.scopes.values()) {
      places.push(one(key), one(scope), put(members.list), members.list.length);
    }
    const counts = [this.projects.size, this.scopes.size, this.count];
    const tape = packed([...counts, put(this.texts), ...places], this.units);
    return [tape, lineage, ...strings];
  }

  private addConditions(unit: Unit, project: ProjectNames): void {
    const tape = this.units;
    this.count += 1;
    for (const { key, digest, keep, reply } of unit.requests) {
      tape.push(project.requests.number(key), keep ? this.text(JSON.stringify({ key, digest, reply })) : 0);
    }
    for (const { subject, expected_seq, head, events } of unit.swaps) {
      const text = this.text(`${head.seq} ${JSON.stringify(head)}`);
      tape.push(project.subjects.number(subject), expected_seq, text, events.length);
    }
    for (const { subject, expected_seq } of unit.checks) {
      tape.push(project.subjects.number(subject), expected_seq);
    }
    for (const { scope: name, member, until_ms } of unit.slots) {
      const scope = this.scopeOf(unit, name);
      const place = scope.members.number(`${unit.project_id}\u0000${member}`);
      tape.push(scope.number, place, Math.min(until_ms ?? 0, FOREVER_MS));
    }
    for (const { scope, max } of unit.rooms) tape.push(this.scopeOf(unit, scope).number, max);
  }

  /** Its text, its time, and the lists in which it is found. */
  private addEvent(event: NewEvent, project: ProjectNames): void {
    const tape = this.units;
    const count_at = tape.push(this.text(JSON.stringify(event)), msOf(event.timestamp), 0) - 1;
    this.addIndexed(TYPE_INDEX + event.event_type, project);
    for (const field of INDEXED_FIELDS) {
      const value = event[field];
      // An event of a task's own head is found by its subject: no need to keep the position twice.
      if (value === undefined || (field === 'task_id' && value === event.subject)) continue;
      this.addIndexed(INDEXED[field] + value, project);
    }
    tape[count_at] = tape.length - 1 - count_at;
  }

  private addIndexed(value: string, project: ProjectNames): void {
    this.units.push(project.index_values.number(value));
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
    const made = new ScopeNames(this.scopes.size + 1, this.keys.slots(tenant_id, scope), scope);
    this.scopes.set(scope, made);
    return made;
  }
}

const ARRAY_32 = 0xdd;
const FLOAT_64 = 0xcb;

/** One MessagePack array of doubles, which Lua reads without parsing. */
function packed(...parts: readonly (readonly number[])[]): Buffer {
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

/** The arguments of the commit script for units of one tenant. */
export function encodeBatch(keys: Keys, units: readonly Unit[], lineage: string): (string | Buffer)[] {
  const tape = new TapeWriter(keys);
  for (const unit of units) tape.add(unit);
  return tape.end(lineage);
}

/** The script's reply: the time, then an outcome for each unit, of which the first number says the kind. */
export function decodeOutcomes(reply: unknown, units: readonly Unit[]): Outcome[] {
  const [now_ms, ...outcomes] = reply as [number, ...(number | string)[][]];
  return outcomes.map(([kind, ...rest], index) => outcomeOf(kind as number, rest, units[index]!, now_ms));
}

function outcomeOf(kind: number, rest: (number | string)[], unit: Unit, now_ms: number): Outcome {
  switch (kind) {
    case REPLAY:
      return { kind: 'replay', request: requestOf(rest[0] as string), now_ms };
    case CONFLICT: {
      const [rules_seq, ...heads] = rest as [number, ...string[]];
      const subjects = [...unit.swaps, ...unit.checks].map(({ subject }) => subject);
      return {
        kind: 'conflict',
        heads: subjects.map((subject, at) => ({ subject, head: headOf(heads[at] || null) })),
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
      const [rules_seq, ...positions] = rest as number[];
      return {
        kind: 'committed',
        positions: positions.map((position) => (position === 0 ? null : position)),
        rules_seq: rules_seq as number,
        now_ms,
      };
    }
    default:
      throw new Error(`The commit script answered with an outcome of kind ${kind}.`);
  }
}

/** A head is kept behind its seq, which is all of it that the script reads. */
export function headOf(kept: string | null): StoredHead | null {
  return kept === null ? null : JSON.parse(kept.slice(kept.indexOf(' ') + 1));
}

/** A request is kept behind the positions that its unit took. */
function requestOf(kept: string): RememberedRequest {
  const end = kept.indexOf('\n');
  const positions = end === 0 ? [] : kept.slice(0, end).split(',').map(Number);
  const { key, digest, reply } = JSON.parse(kept.slice(end + 1));
  return { key, digest, reply, positions };
}
