import { msOf, type NewEvent } from '../../core/events/envelope.js';
import type { Outcome, RememberedRequest, RequestRecord, Slot, StoredHead, Unit } from '../store.js';
import { decodeName, encodeName, NAME_BYTES_MAX } from './names.js';

/** JSON has no infinity. A place without an end ends when numbers do. */
const FOREVER_MS = Number.MAX_SAFE_INTEGER;

/**
 * Units of one project none of which stands on what another of them does, so that all of them can be decided on the
 * state before the first, and written together.
 */
export interface Run {
  readonly units: readonly Unit[];
}

/** Cuts a batch into runs, in order. Whoever sends units that do not meet each other sends one run. */
export function runsOf(units: readonly Unit[]): Run[] {
  const runs: OpenRun[] = [];
  for (const unit of units) {
    const last = runs.at(-1);
    if (last?.takes(unit)) last.add(unit);
    else runs.push(new OpenRun(unit));
  }
  return runs;
}

class OpenRun implements Run {
  readonly units: Unit[] = [];
  private readonly swapped = new Set<string>();
  private readonly request_keys = new Set<string>();
  private readonly note_ids = new Set<string>();

  constructor(first: Unit) {
    this.add(first);
  }

  /** Places need no thought here: the procedure takes them in the order of the units where that can matter. */
  takes(unit: Unit): boolean {
    const first = this.units[0] as Unit;
    return (
      unit.tenant_id === first.tenant_id &&
      unit.project_id === first.project_id &&
      !first.changes_rules &&
      !unit.changes_rules &&
      !unit.swaps.some(({ subject }) => this.swapped.has(subject)) &&
      !unit.checks.some(({ subject }) => this.swapped.has(subject)) &&
      !unit.requests.some(({ key }) => this.request_keys.has(key)) &&
      !unit.notes.some(({ event_id }) => this.note_ids.has(event_id))
    );
  }

  add(unit: Unit): void {
    this.units.push(unit);
    for (const { subject } of unit.swaps) this.swapped.add(subject);
    for (const { key } of unit.requests) this.request_keys.add(key);
    for (const { event_id } of unit.notes) this.note_ids.add(event_id);
  }
}

/** Texts of the whole batch, one after the other; a row of a list says where its own begins and ends. */
class Texts {
  private readonly texts: string[] = [];
  private bytes = 0;

  /** Where it is, counted from 1, and how long. */
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

/** The lists of one run, as the procedure reads them; the columns are in commit-procedures.ts. */
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
  private readonly scopes_by_name = new Map<string, { takes: number; room: number | null }>();
  private has_notes = 0;
  private has_frees = 0;
  private kept_requests = 0;

  constructor(
    { units }: Run,
    private readonly head_texts: Texts,
    private readonly event_texts: Texts,
  ) {
    for (const [number, unit] of units.entries()) this.add(number, unit);
    const { tenant_id, project_id, changes_rules } = units[0] as Unit;
    this.run = {
      tenant_id: nameOf(tenant_id),
      project_id: nameOf(project_id),
      events: this.events.length,
      has_notes: this.has_notes,
      has_frees: this.has_frees,
      kept_requests: this.kept_requests,
      rules_changes: changes_rules ? 1 : 0,
    };
  }

  /** Sorted, so that whoever locks several locks them in one order. */
  get scopes(): unknown[] {
    const sorted = [...this.scopes_by_name].sort(([a], [b]) => (a < b ? -1 : 1));
    return sorted.map(([scope, { takes, room }]) => [scope, takes, room]);
  }

  private add(number: number, unit: Unit): void {
    const first = this.events.length + 1;
    this.units.push([number, unit.rules_seq, unit.not_before_ms, unit.not_after_ms]);
    for (const { subject, expected_seq, head, events } of unit.swaps) {
      const name = nameOf(subject);
      this.touched.push([number, name, expected_seq]);
      this.heads.push([number, name, head.seq, ...this.head_texts.add(head)]);
      for (const event of events) this.addEvent(number, event, null);
    }
    for (const { subject, expected_seq } of unit.checks) {
      this.touched.push([number, nameOf(subject), expected_seq]);
    }
    for (const note of newNotes(unit)) this.addEvent(number, note, nameOf(note.event_id));
    const span: [number, number] = [first, this.events.length + 1 - first];
    for (const request of unit.requests) this.addRequest(number, request, span);
    if (unit.slots.length > 0) this.addSlots(number, unit);
  }

  private addEvent(unit: number, event: NewEvent, note_id: string | null): void {
    const number = this.events.length + 1;
    if (note_id !== null) this.has_notes = 1;
    this.numbers.push([unit, number, note_id]);
    const at_ms = msOf(event.timestamp);
    this.events.push([
      number,
      ...this.event_texts.add(event),
      Number.isNaN(at_ms) ? null : at_ms,
      nameOf(event.event_type),
      maybeName(event.subject),
      maybeName(event.task_id),
      maybeName(event.feature_id),
      maybeName(event.edge),
      maybeName(event.agent_id),
      maybeName(event.session_id),
    ]);
  }

  private addRequest(
    unit: number,
    { key, digest, keep, reply }: RequestRecord,
    span: [number, number],
  ): void {
    const number = keep ? ++this.kept_requests : null;
    const told = reply === undefined ? null : JSON.stringify(reply);
    this.requests.push([unit, number, nameOf(key), nameOf(digest), told, ...span]);
  }

  private addSlots(unit: number, { slots, rooms }: Unit): void {
    const said = lastWords(slots);
    for (const [scope, , until_ms] of said) {
      const known = this.scopes_by_name.get(scope) ?? { takes: 0, room: null };
      this.scopes_by_name.set(scope, known);
      if (until_ms === 0) this.has_frees = 1;
      else known.takes += 1;
    }
    const asked: [string, number][] = rooms.map(({ scope, max }) => [
      nameOf(scope),
      Math.min(max, FOREVER_MS),
    ]);
    for (const [scope, max] of asked) {
      const known = this.scopes_by_name.get(scope);
      if (known !== undefined) known.room = Math.min(known.room ?? max, max);
    }
    this.slots.push([unit, said]);
    this.rooms.push(asked);
  }
}

type Said = [scope: string, member: string, until_ms: number];

function lastWords(slots: readonly Slot[]): Said[] {
  const said = slots.map(({ scope, member, until_ms }): Said => {
    return [nameOf(scope), nameOf(member), Math.max(0, Math.min(until_ms ?? 0, FOREVER_MS))];
  });
  return said.filter(
    ([scope, member], at) => !said.slice(at + 1).some((later) => later[0] === scope && later[1] === member),
  );
}

/** The notes of a unit, each once. */
function newNotes({ notes }: Unit): readonly NewEvent[] {
  if (notes.length < 2) return notes;
  return notes.filter(({ event_id }, at) => notes.findIndex((note) => note.event_id === event_id) === at);
}

function nameOf(name: string): string {
  const encoded = encodeName(name);
  if (encoded.length * 3 > NAME_BYTES_MAX && Buffer.byteLength(encoded) > NAME_BYTES_MAX) {
    throw new Error(`A name of more than ${NAME_BYTES_MAX} bytes: ${name.slice(0, 100)}…`);
  }
  return encoded;
}

const maybeName = (name: string | undefined): string | null => (name === undefined ? null : nameOf(name));

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

/** What `commit_batch` takes after the batch's id. One run's lists are sent as they are, several runs' as lists of lists. */
export function encodeRuns(runs: readonly Run[]): (Buffer | string | number)[] {
  const [head_texts, event_texts] = [new Texts(), new Texts()];
  const all = runs.map((run) => new RunLists(run, head_texts, event_texts));
  const only = all.length === 1 ? all[0] : undefined;
  const lists = LISTS.map((name) => JSON.stringify(only?.[name] ?? all.map((run) => run[name])));
  const headers = all.map(({ run }) => run);
  return [
    runs.length,
    JSON.stringify(projectsOf(runs)),
    JSON.stringify(headers),
    ...lists,
    head_texts.joined(),
    event_texts.joined(),
  ];
}

/** Each once, and sorted: see `scopes`. */
function projectsOf(runs: readonly Run[]): [string, string][] {
  const keys = runs.map(({ units }): [string, string] => {
    const { tenant_id, project_id } = units[0] as Unit;
    return [nameOf(tenant_id), nameOf(project_id)];
  });
  const once = new Map(keys.map((key) => [key.join('\n'), key]));
  return [...once].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, key]) => key);
}

/** A row of `batches`: what became of a run. */
export interface RunRow {
  /** Before the run. */
  readonly position: number;
  readonly rules_seq: number;
  readonly now_ms: number;
  /** Of the units that were refused: number to kind, `full` with the scope after it. */
  readonly refused: string | null;
  /** The numbers of the events that were written; null: all. */
  readonly kept: string | null;
}

/** Heads and requests that refused units met; a row of either kind, by run. */
export interface ShownRow {
  readonly run: number;
  readonly head?: string;
  readonly request_key?: Buffer;
  readonly digest?: Buffer;
  readonly reply?: string | null;
  readonly first_position?: number;
  readonly position_count?: number;
}

export function decodeRun({ units }: Run, row: RunRow, shown: readonly ShownRow[]): Outcome[] {
  const refused = row.refused === null ? {} : (JSON.parse(row.refused) as Record<string, string>);
  const positionOf = positions(row);
  const met = new Met(shown);
  let number = 0;
  return units.map((unit, at) => {
    const swapped = unit.swaps.reduce((sum, swap) => sum + swap.events.length, 0);
    const from = number;
    number += swapped + newNotes(unit).length;
    const kind = refused[at];
    if (kind !== undefined) return refusal(unit, kind, row, met);
    const places = Array.from({ length: swapped }, (_, index) => positionOf(from + 1 + index));
    return {
      kind: 'committed',
      positions: [...places, ...notePositions(unit, (index) => positionOf(from + swapped + 1 + index))],
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

/** A note that a unit brings twice was sent once: the second is left out. */
function notePositions(unit: Unit, positionAt: (index: number) => number | null): (number | null)[] {
  const sent = newNotes(unit);
  return unit.notes.map((note) => {
    const index = sent.indexOf(note);
    return index === -1 ? null : positionAt(index);
  });
}

function refusal(unit: Unit, kind: string, { now_ms, rules_seq }: RunRow, met: Met): Outcome {
  if (kind === 'early' || kind === 'late') return { kind, now_ms };
  if (kind === 'replay') return { kind, request: met.firstKnown(unit), now_ms };
  if (kind !== 'conflict') return { kind: 'full', scope: decodeName(kind.slice('full '.length)), now_ms };
  const heads = [...unit.swaps, ...unit.checks].map(({ subject }) => ({ subject, head: met.head(subject) }));
  return { kind, heads, rules_seq, now_ms };
}

/** What the refused units of a run met, by name. */
class Met {
  private readonly heads = new Map<string, StoredHead>();
  private readonly requests = new Map<string, RememberedRequest>();

  constructor(shown: readonly ShownRow[]) {
    for (const row of shown) {
      if (row.head !== undefined) {
        const head = JSON.parse(row.head) as StoredHead;
        this.heads.set(head.subject, head);
      } else {
        const request = requestOf(row as Required<ShownRow>);
        this.requests.set(request.key, request);
      }
    }
  }

  head(subject: string): StoredHead | null {
    return this.heads.get(subject) ?? null;
  }

  firstKnown({ requests }: Unit): RememberedRequest {
    for (const { key } of requests) {
      const known = this.requests.get(key);
      if (known !== undefined) return known;
    }
    throw new Error('The request that a unit repeats is missing from the outcome of its run.');
  }
}

const requestOf = (row: Required<ShownRow>): RememberedRequest => ({
  key: decodeName(String(row.request_key)),
  digest: decodeName(String(row.digest)),
  reply: row.reply === null ? undefined : JSON.parse(row.reply),
  positions: Array.from({ length: row.position_count }, (_, index) => row.first_position + index),
});
