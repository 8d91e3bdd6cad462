import { canonicalJson } from '../canonical-json.js';
import { type EventEnvelope, isoTime, type NewEvent } from './envelope.js';
import { isObject, unplain } from './plain.js';
import { type ForeignLog, type ForeignReading, readFlat } from './read-flat.js';
import { flatOfOpenLineage, isOpenLineage } from './read-open-lineage.js';

/** A line as it was found. `held` where it is no text of ours to keep inline: then `text` is only how it begins. */
export interface ForeignLine {
  /** From 1. */
  readonly line: number;
  readonly text: string;
  readonly held?: HeldApart;
}

export interface HeldApart {
  readonly why: string;
  readonly sha256: string;
  readonly size_bytes: number;
  /** Where the bytes are, if they are kept. */
  readonly blob_sha256?: string;
}

export interface TakenLine {
  readonly line: number;
  readonly event: NewEvent;
  /** Why the line says nothing that could be placed; null: it did. */
  readonly why: string | null;
}

/**
 * Gives the same id for the same text and number every time, or an import repeated would double it. `occurrence`
 * counts lines that are the same to the letter.
 */
export type ForeignId = (text: string, occurrence: number) => string;

/** What a line is that could be placed nowhere: kept as it was, with the reason. */
export const FOREIGN_LINE = 'foreign_line';

/** Reads a log of this family, line by line in its order; every line becomes one event. */
export class ForeignReader {
  private readonly seen = new Map<string, number>();

  constructor(
    private readonly log: ForeignLog,
    private readonly idOf: ForeignId,
  ) {}

  /** Null for a line that is empty. */
  take(found: ForeignLine): TakenLine | null {
    const { line, text, held } = found;
    if (held === undefined && text.trim() === '') return null;
    const { value, why } = held === undefined ? parsed(text) : { value: null, why: held.why };
    const reading = why === null ? readLine(value, this.log, line) : { ok: false as const, message: why };
    const identity = held?.sha256 ?? (why === null ? canonicalJson(value) : text);
    const event_id = this.nextId(identity);
    if (reading.ok) return { line, event: { event_id, ...reading.event }, why: null };
    return { line, event: { event_id, ...this.unplaced(found, reading.message) }, why: reading.message };
  }

  private nextId(identity: string): string {
    const first = this.idOf(identity, 0);
    const occurrence = this.seen.get(first) ?? 0;
    this.seen.set(first, occurrence + 1);
    return occurrence === 0 ? first : this.idOf(identity, occurrence);
  }

  private unplaced({ line, text, held }: ForeignLine, reason: string): Omit<NewEvent, 'event_id'> {
    const { tenant_id, project_id, source, now_ms } = this.log;
    const { why: _, ...apart } = held ?? { why: '' };
    return {
      event_type: FOREIGN_LINE,
      timestamp: isoTime(now_ms),
      tenant_id,
      project_id,
      agent_id: 'primary',
      payload: { line, reason, raw: text, ...apart, imported: { source, line } },
    };
  }
}

/** A foreign log as events, for whoever only looks at it: nothing is written, and positions count its lines. */
export function* foreignEvents(
  lines: Iterable<string>,
  log: ForeignLog,
  idOf: ForeignId,
): Generator<EventEnvelope> {
  const reader = new ForeignReader(log, idOf);
  let line = 0;
  let position = 0;
  for (const text of lines) {
    line += 1;
    const taken = reader.take({ line, text });
    if (taken === null) continue;
    position += 1;
    yield { ...taken.event, position };
  }
}

export function readLine(value: unknown, log: ForeignLog, line: number): ForeignReading {
  if (!isObject(value)) return { ok: false, path: '', message: 'it is no object' };
  return readFlat(isOpenLineage(value) ? flatOfOpenLineage(value) : value, log, line);
}

function parsed(text: string): { value: unknown; why: string | null } {
  try {
    const value: unknown = JSON.parse(text);
    return { value, why: unplain(value) };
  } catch {
    return { value: null, why: 'it is no JSON' };
  }
}
