import { msOf, type NewEvent } from '../../core/events/envelope.js';
import type { Outcome, RememberedRequest, StoredHead, Unit } from '../store.js';
import { COMMITTED, CONFLICT, EARLY, FOREVER_MS, FULL, LATE, REPLAY } from './commit-script.js';
import { INDEXED, type Keys, TYPE_INDEX } from './keys.js';

/** Where the first text stands among the script's arguments: the plan comes first, and Lua counts from one. */
const FIRST_TEXT = 2;
/** JSON's way to write half a character, which Lua's does not read. */
const HALF_CHARACTER = /(?<=(?<!\\)(?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;

/** Names, each once, and known by the number under which Lua finds it. */
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

interface ProjectPlan {
  readonly number: number;
  readonly key: string;
  readonly name: string;
  readonly subjects: Names;
  readonly requests: Names;
  readonly notes: Names;
}

interface ScopePlan {
  readonly number: number;
  readonly key: string;
  readonly name: string;
  readonly members: Names;
}

/** Writes units of one tenant as the commit script reads them: short names and numbers in one JSON, the rest as texts. */
class Planner {
  readonly texts: string[] = [];
  private readonly projects = new Map<string, ProjectPlan>();
  private readonly scopes = new Map<string, ScopePlan>();

  constructor(private readonly keys: Keys) {}

  plan(units: readonly Unit[], lineage: string | null): string {
    const planned = units.map((unit) => this.unit(unit));
    const projects = Array.from(this.projects.values(), ({ key, name, subjects, requests, notes }) => ({
      key,
      name,
      subjects: subjects.list,
      requests: requests.list,
      notes: notes.list,
    }));
    const scopes = Array.from(this.scopes.values(), ({ key, name, members }) => ({
      key,
      name,
      members: members.list,
    }));
    const json = JSON.stringify({ lineage: lineage ?? false, projects, scopes, units: planned });
    return json.includes('\\ud') ? json.replace(HALF_CHARACTER, '\ufffd') : json;
  }

  /** What is empty is left out: most units are one swap and little else. */
  private unit(unit: Unit): Record<string, unknown> {
    const project = this.project(unit);
    const planned: Record<string, unknown> = { project: project.number };
    if (unit.rules_seq !== null) planned.rules_seq = unit.rules_seq;
    if (unit.changes_rules) planned.changes_rules = true;
    if (unit.not_before_ms !== null) planned.not_before_ms = unit.not_before_ms;
    if (unit.not_after_ms !== null) planned.not_after_ms = unit.not_after_ms;
    if (unit.swaps.length > 0) {
      planned.swaps = unit.swaps.map(({ subject, expected_seq, head, events }) => [
        project.subjects.number(subject),
        expected_seq,
        this.text(`${head.seq} ${JSON.stringify(head)}`),
        ...events.map((event) => this.event(event)),
      ]);
    }
    if (unit.checks.length > 0) {
      planned.checks = unit.checks.map((check) => [
        project.subjects.number(check.subject),
        check.expected_seq,
      ]);
    }
    if (unit.requests.length > 0) {
      planned.requests = unit.requests.map(({ key, digest, keep, reply }) => [
        project.requests.number(key),
        keep ? this.text(JSON.stringify({ key, digest, reply })) : 0,
      ]);
    }
    if (unit.notes.length > 0) {
      planned.notes = unit.notes.map((note) => [project.notes.number(note.event_id), this.event(note)]);
    }
    if (unit.slots.length > 0) {
      planned.slots = unit.slots.map(({ scope: name, member, until_ms }) => {
        const scope = this.scope(unit.tenant_id, name);
        const place = scope.members.number(`${unit.project_id}\u0000${member}`);
        return [scope.number, place, Math.min(until_ms ?? 0, FOREVER_MS)];
      });
    }
    if (unit.rooms.length > 0) {
      planned.rooms = unit.rooms.map(({ scope, max }) => [this.scope(unit.tenant_id, scope).number, max]);
    }
    return planned;
  }

  private event(event: NewEvent): (number | string | false)[] {
    const at_ms = msOf(event.timestamp);
    const planned: (number | string | false)[] = [
      this.text(JSON.stringify(event)),
      Number.isNaN(at_ms) ? false : at_ms,
      TYPE_INDEX + event.event_type,
    ];
    for (const field of INDEXED_FIELDS) {
      const value = event[field];
      // An event of a task's own head is found by its subject: no need to keep the position twice.
      if (value === undefined || (field === 'task_id' && value === event.subject)) continue;
      planned.push(INDEXED[field] + value);
    }
    return planned;
  }

  private text(text: string): number {
    return this.texts.push(text) - 1 + FIRST_TEXT;
  }

  private project(unit: Unit): ProjectPlan {
    const known = this.projects.get(unit.project_id);
    if (known !== undefined) return known;
    const made = {
      number: this.projects.size + 1,
      key: this.keys.project(unit),
      name: unit.project_id,
      subjects: new Names(),
      requests: new Names(),
      notes: new Names(),
    };
    this.projects.set(unit.project_id, made);
    return made;
  }

  private scope(tenant_id: string, name: string): ScopePlan {
    const known = this.scopes.get(name);
    if (known !== undefined) return known;
    const made = {
      number: this.scopes.size + 1,
      key: this.keys.slots(tenant_id, name),
      name,
      members: new Names(),
    };
    this.scopes.set(name, made);
    return made;
  }
}

const INDEXED_FIELDS = Object.keys(INDEXED) as (keyof typeof INDEXED)[];

/** The arguments of the commit script for units of one tenant. */
export function encodeBatch(keys: Keys, units: readonly Unit[], lineage: string | null): string[] {
  const planner = new Planner(keys);
  return [planner.plan(units, lineage), ...planner.texts];
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
