import type { ProjectKey } from '../store.js';
import { misfit, placeInUnit } from './chain.js';
import { type DecodedLine, decodeLine } from './line.js';
import { RedactedLines } from './redacted-lines.js';

export interface CheckedLine<Place> {
  readonly line: DecodedLine;
  readonly place: Place;
}

/** Where a log stands before the next line. */
export interface ChainStart {
  /** Null: the first event tells which project this is. */
  readonly key: ProjectKey | null;
  readonly hash: string;
  readonly position: number;
}

/**
 * Checks the lines of a log in turn: each by itself, as the continuation of the line before, and against the log's own
 * record of retention. Recovery and `gen verify` both read through it, so that neither accepts what the other refuses.
 */
export class ChainCheck<Place> {
  private key: ProjectKey | null;
  private hash: string;
  private position: number;
  private unit: CheckedLine<Place>[] = [];
  private readonly redacted = new RedactedLines<Place>();

  constructor(
    start: ChainStart,
    /** Called with the lines of each unit, once it is whole. */
    private readonly onUnit: (lines: readonly CheckedLine<Place>[]) => void,
  ) {
    this.key = start.key;
    this.hash = start.hash;
    this.position = start.position;
  }

  /** The lines of the last unit so far do not make it whole. */
  get isWithinUnit(): boolean {
    return this.unit.length > 0;
  }

  /** Why the line cannot stand there, in words; null when it can. A line that cannot changes nothing. */
  take(bytes: Buffer, place: Place): string | null {
    const line = decodeLine(bytes);
    if (typeof line === 'string') return line;
    const { part, parts } = placeInUnit(line.log.unit);
    const { event } = line;
    const key = this.key ?? event ?? { tenant_id: '', project_id: '' };
    const { length } = this.unit;
    const end = { key, hash: this.hash, position: this.position + length, parts: length };
    const why = misfit(line, part, end);
    if (why !== null) return why;
    if (event !== null) this.key = { tenant_id: event.tenant_id, project_id: event.project_id };
    this.hash = line.hash;
    this.unit.push({ line, place });
    if (part === parts) this.takeUnit();
    return null;
  }

  /** Only once the whole log was read: where payloads were changed that no event explains. */
  unexplained(): Place[] {
    return this.redacted.unexplained();
  }

  private takeUnit(): void {
    const { unit } = this;
    this.unit = [];
    for (const { line, place } of unit) {
      if (line.event === null) continue;
      this.position = line.event.position;
      this.redacted.see(line.event, line.forgotten, place);
    }
    this.onUnit(unit);
  }
}
