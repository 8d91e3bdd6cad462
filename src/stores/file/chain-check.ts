import type { ProjectKey } from '../store.js';
import { chainError, transactionPart } from './chain.js';
import { type DecodedLine, decodeLine } from './line.js';
import { RedactedLines } from './redacted-lines.js';

export interface CheckedLine<Place> {
  readonly line: DecodedLine;
  readonly location: Place;
}

/** The state of a log before its next line. */
export interface ChainStart {
  /** Null: the first event determines the project. */
  readonly key: ProjectKey | null;
  readonly hash: string;
  readonly position: number;
}

/**
 * Checks the lines of a log in turn: each by itself, as the continuation of the line before, and against the log's own
 * retention events. Recovery and `gen verify` both use it, so that neither accepts what the other refuses.
 */
export class ChainCheck<Place> {
  private key: ProjectKey | null;
  private hash: string;
  private position: number;
  private transactionLines: CheckedLine<Place>[] = [];
  private readonly redacted = new RedactedLines<Place>();

  constructor(
    start: ChainStart,
    /** Called with the lines of each transaction once it is complete. */
    private readonly onTransaction: (lines: readonly CheckedLine<Place>[]) => void,
  ) {
    this.key = start.key;
    this.hash = start.hash;
    this.position = start.position;
  }

  /** Whether the last transaction is still incomplete. */
  get isWithinTransaction(): boolean {
    return this.transactionLines.length > 0;
  }

  /** Checks the next line. Returns null, or why the line is not valid there; an invalid line changes nothing. */
  addLine(bytes: Buffer, location: Place): string | null {
    const line = decodeLine(bytes);
    if (typeof line === 'string') return line;
    const { part, parts } = transactionPart(line.log.unit);
    const { event } = line;
    const key = this.key ?? event ?? { tenant_id: '', project_id: '' };
    const { length } = this.transactionLines;
    const end = { key, hash: this.hash, position: this.position + length, parts: length };
    const error = chainError(line, part, end);
    if (error !== null) return error;
    if (event !== null) this.key = { tenant_id: event.tenant_id, project_id: event.project_id };
    this.hash = line.hash;
    this.transactionLines.push({ line, location });
    if (part === parts) this.finishTransaction();
    return null;
  }

  /** Where payloads were changed that no event explains. Call it only after the whole log was read. */
  unexplainedRedactions(): Place[] {
    return this.redacted.unexplained();
  }

  private finishTransaction(): void {
    const { transactionLines: lines } = this;
    this.transactionLines = [];
    for (const { line, location } of lines) {
      if (line.event === null) continue;
      this.position = line.event.position;
      this.redacted.add(line.event, line.isRedacted, location);
    }
    this.onTransaction(lines);
  }
}
