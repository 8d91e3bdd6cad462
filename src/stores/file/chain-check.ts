import type { EventEnvelope } from '../../core/events/envelope.js';
import type { ProjectKey } from '../store.js';
import { type DecodedLine, decodeLine } from './line.js';
import { RedactedLines } from './redacted-lines.js';

export interface CheckedLine<Place> {
  readonly line: DecodedLine;
  readonly location: Place;
}

const SINGLE_PART = { part: 1, parts: 1 };

/** The part number of a line and the number of lines in its transaction. Most transactions are one line. */
export function transactionPart(text: string): { part: number; parts: number } {
  if (text === '1/1') return SINGLE_PART;
  const [part = 0, parts = 0] = text.split('/').map(Number);
  return { part, parts };
}

/** Why an event is not the one expected at a position of a project's log; null if it is. */
export function placeError(event: EventEnvelope, key: ProjectKey, position: number): string | null {
  if (event.tenant_id !== key.tenant_id || event.project_id !== key.project_id) {
    return `it belongs to ${event.tenant_id}/${event.project_id}, not to ${key.tenant_id}/${key.project_id}`;
  }
  return event.position === position ? null : `it has position ${event.position} instead of ${position}`;
}

/**
 * Checks the lines of a log in turn: each by itself, as the continuation of the line before, and against the log's own
 * retention events. Recovery and `gen verify` both use it, so that neither accepts what the other refuses.
 */
export class ChainCheck<Place> {
  private transactionLines: CheckedLine<Place>[] = [];
  private readonly redacted = new RedactedLines<Place>();

  constructor(
    /** The state of the log before its next line. Key null: the first event determines the project. */
    private readonly end: { key: ProjectKey | null; hash: string; position: number },
    /** Called with the lines of each transaction once it is complete. */
    private readonly onTransaction: (lines: readonly CheckedLine<Place>[]) => void,
  ) {}

  /** Whether the last transaction is still incomplete. */
  get isWithinTransaction(): boolean {
    return this.transactionLines.length > 0;
  }

  /** Checks the next line. Returns null, or why the line is not valid there; an invalid line changes nothing. */
  addLine(bytes: Buffer, location: Place): string | null {
    const line = decodeLine(bytes);
    return typeof line === 'string' ? line : this.addDecoded(line, location);
  }

  addDecoded(line: DecodedLine, location: Place): string | null {
    const { part, parts } = transactionPart(line.log.unit);
    const error = this.chainError(line, part);
    if (error !== null) return error;
    if (line.event !== null) this.end.key ??= line.event;
    this.end.hash = line.hash;
    this.transactionLines.push({ line, location });
    if (part === parts) this.finishTransaction();
    return null;
  }

  /** Where payloads were changed that no event explains. Call it only after the whole log was read. */
  unexplainedRedactions(): Place[] {
    return this.redacted.unexplained();
  }

  /** Why a line cannot follow the lines before it; null if it can. */
  private chainError({ event, log }: DecodedLine, part: number): string | null {
    const { key, hash, position } = this.end;
    const { length } = this.transactionLines;
    if (log.prev !== hash) return 'it does not continue the line before it';
    if (part !== length + 1) return `it is part ${log.unit} of a transaction whose other parts are missing`;
    return event === null ? null : placeError(event, key ?? event, position + length + 1);
  }

  private finishTransaction(): void {
    const { transactionLines: lines } = this;
    this.transactionLines = [];
    for (const { line, location } of lines) {
      if (line.event === null) continue;
      this.end.position = line.event.position;
      this.redacted.add(line.event, line.isRedacted, location);
    }
    this.onTransaction(lines);
  }
}
