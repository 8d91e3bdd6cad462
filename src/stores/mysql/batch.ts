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

/** The lists of one run, as the procedure reads them; see commit-procedures.ts for the columns. */
class RunLists {
  readonly head: Record<string, unknown>;
  readonly units: unknown[] = [];
  readonly touched: unknown[] = [];
  readonly heads: unknown[] = [];
  readonly numbers: unknown[] = [];
  readonly events: unknown[] = [];
  readonly requests: unknown[] = [];
  readonly slots: unknown[] = [];
  private readonly scopes_by_name = new Map<string, { scope: string; takes: number; room?: number }>();
  private has_notes = 0;
  private has_frees = 0;
  private requests_kept = 0;

  constructor({ units }: Run) {
    for (const [number, unit] of units.entries()) this.add(number, unit);
    const { tenant_id, project_id, changes_rules } = units[0] as Unit;
    this.head = {
      tenant_id: nameOf(tenant_id),
      project_id: nameOf(project_id),
      events: this.events.length,
      has_notes: this.has_notes,
      has_frees: this.has_frees,
      has_kept_requests: this.requests_kept,
      rules_changes: changes_rules ? 1 : 0,
    };
  }

  /** Sorted, so that whoever locks several locks them in one order. */
  get scopes(): unknown[] {
    return [...this.scopes_by_name.values()].sort((a, b) => (a.scope < b.scope ? -1 : 1));
  }

  private add(number: number, unit: Unit): void {
    const { rules_seq, not_before_ms, not_after_ms } = unit;
    this.units.push({ unit: number, rules_seq, not_before_ms, not_after_ms });
    for (const { subject, expected_seq, head, events } of unit.swaps) {
      const name = nameOf(subject);
      this.touched.push({ unit: number, subject: name, seq: expected_seq });
      this.heads.push({ unit: number, subject: name, seq: head.seq, head: JSON.stringify(head) });
      for (const event of events) this.addEvent(number, event, undefined);
    }
    for (const { subject, expected_seq } of unit.checks) {
      this.touched.push({ unit: number, subject: nameOf(subject), seq: expected_seq });
    }
    for (const note of newNotes(unit)) this.addEvent(number, note, nameOf(note.event_id));
    for (const request of unit.requests) this.addRequest(number, request);
    if (unit.slots.length > 0) this.addSlots(number, unit);
  }

  private addEvent(unit: number, event: NewEvent, note_id: string | undefined): void {
    const number = this.events.length + 1;
    if (note_id !== undefined) this.has_notes = 1;
    this.numbers.push({ unit, number, note_id });
    const at_ms = msOf(event.timestamp);
    this.events.push({
      number,
      event_type: nameOf(event.event_type),
      subject: maybeName(event.subject),
      task_id: maybeName(event.task_id),
      feature_id: maybeName(event.feature_id),
      edge: maybeName(event.edge),
      agent_id: maybeName(event.agent_id),
      session_id: maybeName(event.session_id),
      at_ms: Number.isNaN(at_ms) ? undefined : at_ms,
      event: JSON.stringify(event),
    });
  }

  private addRequest(unit: number, { key, digest, keep, reply }: RequestRecord): void {
    this.requests.push({
      unit,
      number: keep ? ++this.requests_kept : undefined,
      request_key: nameOf(key),
      digest: nameOf(digest),
      reply: reply === undefined ? undefined : JSON.stringify(reply),
    });
  }

  private addSlots(unit: number, { slots, rooms }: Unit): void {
    const said = lastWords(slots);
    for (const { scope, until_ms } of said) {
      const known = this.scopes_by_name.get(scope) ?? { scope, takes: 0 };
      this.scopes_by_name.set(scope, known);
      if (until_ms === 0) this.has_frees = 1;
      else known.takes += 1;
    }
    const asked = rooms.map(({ scope, max }) => ({ scope: nameOf(scope), max: Math.min(max, FOREVER_MS) }));
    for (const { scope, max } of asked) {
      const known = this.scopes_by_name.get(scope);
      if (known !== undefined) known.room = Math.min(known.room ?? max, max);
    }
    this.slots.push({ unit, rooms: asked, slots: said });
  }
}

function lastWords(slots: readonly Slot[]): { scope: string; member: string; until_ms: number }[] {
  const said = slots.map(({ scope, member, until_ms }) => ({
    scope: nameOf(scope),
    member: nameOf(member),
    until_ms: Math.max(0, Math.min(until_ms ?? 0, FOREVER_MS)),
  }));
  return said.filter(
    ({ scope, member }, at) =>
      !said.slice(at + 1).some((later) => later.scope === scope && later.member === member),
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

const maybeName = (name: string | undefined): string | undefined =>
  name === undefined ? undefined : nameOf(name);

const LISTS = ['units', 'touched', 'heads', 'numbers', 'events', 'requests', 'scopes', 'slots'] as const;

/** What `commit_batch` takes after the batch's id. One run's lists are sent as they are, several runs' as lists of lists. */
export function encodeRuns(runs: readonly Run[]): (string | number)[] {
  const lists = runs.map((run) => new RunLists(run));
  const only = lists.length === 1 ? lists[0] : undefined;
  const ofAll = LISTS.map((name) => JSON.stringify(only?.[name] ?? lists.map((run) => run[name])));
  return [runs.length, JSON.stringify(projectsOf(lists)), JSON.stringify(lists.map(({ head }) => head)), ...ofAll];
}

function projectsOf(lists: readonly RunLists[]): unknown[] {
  const projects = new Map(
    lists.map(({ head: { tenant_id, project_id } }) => [`${tenant_id}/${project_id}`, { tenant_id, project_id }]),
  );
  return [...projects].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, project]) => project);
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
  readonly heads: string | null;
  readonly known: string | null;
}

interface KnownRequest {
  readonly request_key: string;
  readonly digest: string;
  readonly reply: string | null;
  readonly first_position: number;
  readonly position_count: number;
}

export function decodeRun({ units }: Run, row: RunRow): Outcome[] {
  const refused = row.refused === null ? {} : (JSON.parse(row.refused) as Record<string, string>);
  const positionOf = positions(row);
  const there = headsOf(row);
  let number = 0;
  return units.map((unit, at) => {
    const swapped = unit.swaps.reduce((sum, swap) => sum + swap.events.length, 0);
    const from = number;
    number += swapped + newNotes(unit).length;
    const kind = refused[at];
    if (kind !== undefined) return refusal(unit, kind, row, there);
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

function refusal(unit: Unit, kind: string, row: RunRow, there: ReadonlyMap<string, StoredHead>): Outcome {
  const { now_ms, rules_seq } = row;
  if (kind === 'early' || kind === 'late') return { kind, now_ms };
  if (kind === 'replay') return { kind, request: replayed(unit, row), now_ms };
  if (kind !== 'conflict') return { kind: 'full', scope: decodeName(kind.slice('full '.length)), now_ms };
  const heads = [...unit.swaps, ...unit.checks].map(({ subject }) => ({
    subject,
    head: there.get(subject) ?? null,
  }));
  return { kind, heads, rules_seq, now_ms };
}

function headsOf({ heads }: RunRow): ReadonlyMap<string, StoredHead> {
  const there = (JSON.parse(heads ?? '[]') as string[]).map((head) => JSON.parse(head) as StoredHead);
  return new Map(there.map((head) => [head.subject, head]));
}

/** The first of the unit's requests that was known. */
function replayed(unit: Unit, row: RunRow): RememberedRequest {
  const known = JSON.parse(row.known ?? '[]') as KnownRequest[];
  for (const { key } of unit.requests) {
    const found = known.find(({ request_key }) => request_key === encodeName(key));
    if (found === undefined) continue;
    const { digest, reply, first_position, position_count } = found;
    return {
      key,
      digest: decodeName(digest),
      reply: reply === null ? undefined : JSON.parse(reply),
      positions: Array.from({ length: position_count }, (_, index) => first_position + index),
    };
  }
  throw new Error('The request that a unit repeats is missing from the outcome of its run.');
}
