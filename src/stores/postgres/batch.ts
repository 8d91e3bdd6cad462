import { msOf, type NewEvent } from '../../core/events/envelope.js';
import type { Outcome, RememberedRequest, RequestRecord, StoredHead, Unit } from '../store.js';
import { assertWellFormed } from '../well-formed.js';
import { ALWAYS, TOLD } from './commit-function.js';

/** Gives each distinct key a number, 1, 2, 3 … in the order in which they come. */
class Numbers {
  private readonly numbers = new Map<string, number>();

  /** `made` is called when the key is new. */
  of(key: string, made: () => void): number {
    const known = this.numbers.get(key);
    if (known !== undefined) return known;
    made();
    const number = this.numbers.size + 1;
    this.numbers.set(key, number);
    return number;
  }
}

/** One batch as the commit function takes it, column by column, and its answer as outcomes. */
export class Batch {
  private readonly script: (number | string)[] = [];

  private readonly project_numbers = new Numbers();
  private readonly tenants: string[] = [];
  private readonly projects: string[] = [];

  private readonly subject_numbers = new Numbers();
  private readonly subject_projects: number[] = [];
  private readonly subjects: string[] = [];

  private readonly scope_numbers = new Numbers();
  private readonly scope_tenants: string[] = [];
  private readonly scopes: string[] = [];
  private readonly scope_takes: number[] = [];
  private readonly scope_max: number[] = [];

  private readonly place_numbers = new Numbers();
  private readonly place_projects: number[] = [];
  private readonly place_scopes: number[] = [];
  private readonly members: string[] = [];

  private readonly request_numbers = new Numbers();
  private readonly request_projects: number[] = [];
  private readonly request_keys: string[] = [];

  private readonly note_numbers = new Numbers();
  private readonly note_projects: number[] = [];
  private readonly note_ids: string[] = [];

  private readonly heads: StoredHead[] = [];
  private readonly kept_projects: number[] = [];
  private readonly kept: RequestRecord[] = [];
  /** By kept request: the unit it belongs to. */
  private readonly kept_units: number[] = [];
  private readonly event_projects: number[] = [];
  private readonly events: NewEvent[] = [];

  constructor(private readonly units: readonly Unit[]) {
    for (const unit of units) assertWellFormed(unit);
    for (const [index, unit] of units.entries()) this.add(unit, index);
  }

  /** In the order of the commit function's parameters, after the id of the batch. */
  values(): unknown[] {
    const { events } = this;
    return [
      numbers(this.script),
      names(this.tenants),
      names(this.projects),
      numbers(this.subject_projects),
      names(this.subjects),
      names(this.scope_tenants),
      names(this.scopes),
      numbers(this.scope_takes),
      numbers(this.scope_max.map(wholeMs)),
      numbers(this.place_projects),
      numbers(this.place_scopes),
      names(this.members),
      numbers(this.request_projects),
      names(this.request_keys),
      numbers(this.note_projects),
      names(this.note_ids),
      bodies(this.heads),
      numbers(this.kept_projects),
      names(this.kept.map(({ key }) => key)),
      bodies(this.kept.map(({ digest, reply }) => ({ digest, reply }))),
      numbers(this.event_projects),
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

  /** Reads what `decide` told, unit by unit. */
  outcomes(answer: string): Outcome[] {
    const [now, told = '', positions = '', ...lines] = answer.split('\n');
    const reader: Answer = {
      now_ms: Number(now),
      told: new Numerals(told),
      positions: new Numerals(positions),
      found: new Found(lines),
    };
    const outcomes: Outcome[] = [];
    for (const unit of this.units) outcomes.push(this.outcome(unit, reader, outcomes));
    return outcomes;
  }

  private outcome(unit: Unit, answer: Answer, before: readonly Outcome[]): Outcome {
    const { now_ms, told, found } = answer;
    const positions = positionsOf(unit, answer);
    switch (told.next()) {
      case TOLD.replay:
        return { kind: 'replay', request: this.replayed(told.next(), told.next(), found, before), now_ms };
      case TOLD.conflict: {
        const rules_seq = told.next();
        return { kind: 'conflict', heads: this.shown(unit, told, found), rules_seq, now_ms };
      }
      case TOLD.early:
        return { kind: 'early', now_ms };
      case TOLD.late:
        return { kind: 'late', now_ms };
      case TOLD.full:
        return { kind: 'full', scope: this.scopes[told.next() - 1] as string, now_ms };
      default:
        return { kind: 'committed', positions, rules_seq: told.next(), now_ms };
    }
  }

  private shown(unit: Unit, told: Numerals, found: Found): { subject: string; head: StoredHead | null }[] {
    const project = this.projectNumber(unit);
    return [...unit.swaps, ...unit.checks].map(({ subject }) => {
      const swap = told.next();
      const head =
        swap > 0
          ? (this.heads[swap - 1] as StoredHead)
          : (found.heads.get(this.subjectNumber(project, subject)) ?? null);
      return { subject, head };
    });
  }

  /** `kept` says which request of this very batch was kept under that key; -1: the engine knew it before. */
  private replayed(
    number: number,
    kept: number,
    found: Found,
    before: readonly Outcome[],
  ): RememberedRequest {
    const key = this.request_keys[number - 1] as string;
    if (kept === -1) return { key, ...(found.requests.get(number) as Omit<RememberedRequest, 'key'>) };
    const { digest, reply } = this.kept[kept - 1] as RequestRecord;
    const outcome = before[this.kept_units[kept - 1] as number] as Outcome & { kind: 'committed' };
    return { key, digest, reply, positions: outcome.positions.filter((position) => position !== null) };
  }

  private add(unit: Unit, index: number): void {
    const project = this.projectNumber(unit);
    const slots = lastWords(unit);
    let swap_events = 0;
    for (const { events } of unit.swaps) swap_events += events.length;
    const keeps = unit.requests.some((request) => request.keep);
    const has_effect = swap_events + unit.notes.length + unit.slots.length > 0 || keeps || unit.changes_rules;
    this.script.push(
      project,
      unit.rules_seq ?? -1,
      unit.changes_rules ? 1 : 0,
      wholeMs(unit.not_before_ms ?? 0),
      wholeMs(unit.not_after_ms ?? Number.POSITIVE_INFINITY),
      has_effect ? 1 : 0,
      unit.swaps.length,
      unit.checks.length,
      unit.requests.length,
      unit.notes.length,
      slots.length,
      unit.rooms.length,
      swap_events,
    );
    this.addHeads(unit, project);
    this.addRequests(unit, project, index);
    this.addNotes(unit, project);
    this.addSlots(unit, project, slots);
  }

  private addHeads(unit: Unit, project: number): void {
    for (const { subject, expected_seq, head, events } of unit.swaps) {
      this.script.push(this.subjectNumber(project, subject), expected_seq, events.length);
      this.heads.push(head);
      for (const event of events) this.addEvent(project, event);
    }
    for (const { subject, expected_seq } of unit.checks) {
      this.script.push(this.subjectNumber(project, subject), expected_seq);
    }
  }

  private addRequests(unit: Unit, project: number, index: number): void {
    for (const request of unit.requests) {
      const number = this.request_numbers.of(`${project} ${request.key}`, () => {
        this.request_projects.push(project);
        this.request_keys.push(request.key);
      });
      this.script.push(number, request.keep ? 1 : 0);
      this.kept_projects.push(project);
      this.kept.push(request);
      this.kept_units.push(index);
    }
  }

  private addNotes(unit: Unit, project: number): void {
    for (const note of unit.notes) {
      const number = this.note_numbers.of(`${project} ${note.event_id}`, () => {
        this.note_projects.push(project);
        this.note_ids.push(note.event_id);
      });
      this.script.push(number);
      this.addEvent(project, note);
    }
  }

  private addSlots(unit: Unit, project: number, slots: Unit['slots']): void {
    for (const { scope, member, until_ms } of slots) {
      const scope_number = this.scopeNumber(unit.tenant_id, scope);
      const place = this.place_numbers.of(`${project} ${scope_number} ${member}`, () => {
        this.place_projects.push(project);
        this.place_scopes.push(scope_number);
        this.members.push(member);
      });
      this.script.push(place, wholeMs(until_ms ?? 0));
      this.scope_takes[scope_number - 1] = (this.scope_takes[scope_number - 1] as number) + 1;
    }
    for (const { scope, max } of unit.rooms) {
      const scope_number = this.scopeNumber(unit.tenant_id, scope);
      this.script.push(scope_number, wholeMs(max));
      this.scope_max[scope_number - 1] = Math.min(this.scope_max[scope_number - 1] as number, max);
    }
  }

  private addEvent(project: number, event: NewEvent): void {
    this.event_projects.push(project);
    this.events.push(event);
  }

  private projectNumber({ tenant_id, project_id }: Unit): number {
    return this.project_numbers.of(`${tenant_id}\n${project_id}`, () => {
      this.tenants.push(tenant_id);
      this.projects.push(project_id);
    });
  }

  private subjectNumber(project: number, subject: string): number {
    return this.subject_numbers.of(`${project} ${subject}`, () => {
      this.subject_projects.push(project);
      this.subjects.push(subject);
    });
  }

  private scopeNumber(tenant_id: string, scope: string): number {
    return this.scope_numbers.of(`${tenant_id}\n${scope}`, () => {
      this.scope_tenants.push(tenant_id);
      this.scopes.push(scope);
      this.scope_takes.push(0);
      this.scope_max.push(Number.POSITIVE_INFINITY);
    });
  }
}

interface Answer {
  readonly now_ms: number;
  readonly told: Numerals;
  readonly positions: Numerals;
  readonly found: Found;
}

/** Of every event of the unit, whatever became of it: null for one that was not written. */
function positionsOf({ swaps, notes }: Unit, answer: Answer): (number | null)[] {
  const positions: (number | null)[] = [];
  for (const { events } of swaps) for (const _ of events) positions.push(answer.positions.next() || null);
  for (const _ of notes) positions.push(answer.positions.next() || null);
  return positions;
}

/** What the answer shows of the time before the batch, by the numbers of subjects and requests. */
class Found {
  readonly heads = new Map<number, StoredHead>();
  readonly requests = new Map<number, Omit<RememberedRequest, 'key'>>();

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

/** Numbers with a space between them, read one by one. */
class Numerals {
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

/** Of two words about one place the last stands. */
function lastWords({ slots }: Unit): Unit['slots'] {
  if (slots.length < 2) return slots;
  const last = new Map(slots.map((slot) => [`${slot.scope}\n${slot.member}`, slot]));
  return last.size === slots.length ? slots : [...last.values()];
}

/** The engine counts whole milliseconds: the next one says the same as any fraction before it. */
function wholeMs(ms: number): number | string {
  return ms > Number.MAX_SAFE_INTEGER ? ALWAYS : Math.ceil(ms);
}

function timeOf(timestamp: string): number | string {
  const at_ms = msOf(timestamp);
  return Number.isNaN(at_ms) ? 'NULL' : at_ms;
}

/** What the columns tell is not told again; `eventOf` puts it back. */
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

/** JSON has no line feed of its own. */
const bodies = (list: readonly unknown[]): string => list.map((value) => JSON.stringify(value)).join('\n');

/** Lines, the empty one for no name. Ids have neither line feeds nor NUL, which PostgreSQL has no way to keep. */
function names(list: readonly (string | undefined)[]): string {
  if (list.includes('')) throw new Error('PostgreSQL: a name is empty.');
  const lines = list.join('\n');
  if (lines.includes('\0') || lines.split('\n').length > Math.max(list.length, 1)) {
    throw new Error('PostgreSQL: a name has a line feed or a NUL in it.');
  }
  return lines;
}
