import { canonicalJson } from '../canonical-json.js';
import { type EventEnvelope, isoTime, type NewEvent } from './envelope.js';
import { importedEventFault } from './imported-event.js';
import { isObject, plainDataFault } from './plain-data.js';
import { type ForeignLogContext, type ForeignParseResult, parseFlatLine } from './read-flat.js';
import { flattenOpenLineage, isOpenLineage } from './read-open-lineage.js';

/** A line of a foreign log. `notInline`: the line cannot be stored inline, and `text` is only its beginning. */
export interface ForeignLine {
  /** Counted from 1. */
  readonly line: number;
  readonly text: string;
  readonly notInline?: {
    readonly why: string;
    readonly sha256: string;
    readonly size_bytes: number;
    /** Digest of the blob with the bytes, if they are kept. */
    readonly blob_sha256?: string;
  };
}

export interface ImportedLine {
  readonly line: number;
  readonly event: NewEvent;
  /** Why the line could not be converted; null if it was. */
  readonly why: string | null;
}

/**
 * Derives an event id. Must be deterministic, or a repeated import would duplicate events. `occurrence` counts
 * identical lines.
 */
export type DeriveEventId = (text: string, occurrence: number) => string;

/** Event type of a line that could not be converted: kept verbatim, with the reason. */
export const UNCONVERTED_LINE = 'foreign_line';

/** Reads a log that another Genesis tool wrote (an AI SDLC event log) line by line; every non-empty line becomes an event. */
export class ForeignLogReader {
  private readonly occurrences = new Map<string, number>();

  constructor(
    private readonly log: ForeignLogContext,
    private readonly idOf: DeriveEventId,
  ) {}

  /** Null for an empty line. */
  readLine(foreignLine: ForeignLine): ImportedLine | null {
    const { line, text, notInline } = foreignLine;
    if (notInline === undefined && text.trim() === '') return null;
    const { value, why } =
      notInline === undefined ? parseJsonLine(text) : { value: null, why: notInline.why };
    const parsed = why ?? parseForeignLine(value, this.log, line);
    const event_id = this.nextId(notInline?.sha256 ?? (why === null ? canonicalJson(value) : text));
    const event = typeof parsed === 'string' ? parsed : eventOrFault({ event_id, ...parsed });
    if (typeof event !== 'string') return { line, event, why: null };
    return { line, event: { event_id, ...this.unconvertedEvent(foreignLine, event) }, why: event };
  }

  private nextId(identity: string): string {
    const first = this.idOf(identity, 0);
    const occurrence = this.occurrences.get(first) ?? 0;
    this.occurrences.set(first, occurrence + 1);
    return occurrence === 0 ? first : this.idOf(identity, occurrence);
  }

  private unconvertedEvent(
    { line, text, notInline }: ForeignLine,
    reason: string,
  ): Omit<NewEvent, 'event_id'> {
    const { tenant_id, project_id, source, now_ms } = this.log;
    const { why: _, ...notInlineFields } = notInline ?? { why: '' };
    return {
      event_type: UNCONVERTED_LINE,
      timestamp: isoTime(now_ms),
      tenant_id,
      project_id,
      agent_id: 'primary',
      payload: { line, reason, raw: text, ...notInlineFields, imported: { source, line } },
    };
  }
}

/** The event, or why it cannot be imported. Checked in advance: an invalid event would stop an import halfway. */
function eventOrFault(event: NewEvent): NewEvent | string {
  const fault = importedEventFault(event);
  return fault === null ? event : `it cannot be imported: ${fault.path}: ${fault.message}`;
}

/** Reads a foreign log as events without writing them; positions count its non-empty lines. */
export function foreignEvents(
  lines: readonly string[],
  log: ForeignLogContext,
  idOf: DeriveEventId,
): EventEnvelope[] {
  const reader = new ForeignLogReader(log, idOf);
  return lines
    .flatMap((text, index) => reader.readLine({ line: index + 1, text }) ?? [])
    .map(({ event }, index) => ({ ...event, position: index + 1 }));
}

export function parseForeignLine(value: unknown, log: ForeignLogContext, line: number): ForeignParseResult {
  if (!isObject(value)) return 'it is not an object';
  return parseFlatLine(isOpenLineage(value) ? flattenOpenLineage(value) : value, log, line);
}

function parseJsonLine(text: string): { value: unknown; why: string | null } {
  try {
    const value: unknown = JSON.parse(text);
    return { value, why: plainDataFault(value) };
  } catch {
    return { value: null, why: 'it is not JSON' };
  }
}
