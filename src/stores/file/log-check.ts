import type { EventEnvelope } from '../../core/events/envelope.js';
import type { ProjectKey } from '../store.js';
import type { CheckedLine, LineFault, LogEnd } from './checked-line.js';
import {
  bytesInFile,
  coversLines,
  FOREIGN_BYTES_MAX,
  FOREIGN_EXCESS,
  FOREIGN_LINES_MAX,
} from './foreign-lines.js';
import type { DecodedLine } from './line.js';
import type { V1Line } from './line-v1.js';
import { decodeLine } from './log-line.js';
import { RedactedLines } from './redacted-lines.js';
import { type Seal, SealInput, sealedText } from './seal.js';
import { UndecidedLines } from './undecided-lines.js';

export type { CheckedLine, LineFault, LogEnd } from './checked-line.js';

/** Receives the transactions and the blocks of a log, each when it is certain what its lines are. */
interface LogVisitor<Location> {
  /** A complete transaction, and the store's time when its batch was decided; 0: unknown. */
  onTransaction(lines: readonly CheckedLine<Location>[], atMs: number): void;
  /** The log up to `last` is whole: `last` is the seal of a block, the end of a format-1 transaction, or a foreign line. */
  onWhole(last: Location, block: { readonly first: Location; readonly sealBefore: string } | null): void;
}

/** The part number of a line and the number of lines in its transaction. Most transactions are one line. */
function transactionPart(unit: string | undefined): TransactionPart {
  if (unit === undefined) return SINGLE_PART;
  const [part = 0, parts = 0] = unit.split('/').map(Number);
  return { part, parts };
}
interface TransactionPart {
  readonly part: number;
  readonly parts: number;
}
const SINGLE_PART: TransactionPart = { part: 1, parts: 1 };

/** Whether a line can follow another: as the next part of its transaction, or as the first of the next one. */
const isNextPart = (before: TransactionPart, { part, parts }: TransactionPart): boolean =>
  before.part < before.parts ? part === before.part + 1 && parts === before.parts : part === 1 && parts >= 1;

/** Why an event is not the one expected at a position of a project's log; null if it is. */
export function eventPositionError(
  event: EventEnvelope,
  projectKey: ProjectKey,
  position: number,
): string | null {
  if (event.tenant_id !== projectKey.tenant_id || event.project_id !== projectKey.project_id) {
    return `it belongs to ${event.tenant_id}/${event.project_id}, not to ${projectKey.tenant_id}/${projectKey.project_id}`;
  }
  return event.position === position ? null : `it has position ${event.position} instead of ${position}`;
}

/**
 * Checks the lines of a log in turn: each by itself, its block by its seal, and redacted payloads by the log's own
 * retention events. Recovery and `gen verify` both use it, so that neither accepts what the other refuses.
 */
export class LogCheck<Location> {
  /** The lines since the last seal; in format 1, the lines of an incomplete transaction. */
  private pending: CheckedLine<Location>[] = [];
  private pendingEvents = 0;
  private pendingKey: ProjectKey | null = null;
  /** The first line since the last seal, which may be foreign. */
  private firstSinceSeal: Location | null = null;
  /** Which part of its transaction the last line is. */
  private part: TransactionPart = SINGLE_PART;
  /** The hash of the last format-1 line, which may be within a transaction. */
  private v1Hash: string;
  /** The size of the foreign lines that no seal covers yet. */
  private foreignBytes: number;
  private readonly sealInput = new SealInput();
  private readonly redacted = new RedactedLines<Location>();
  /** Lines that do not fit where they are. The next seal of the log shows whether they are another program's. */
  private readonly undecided = new UndecidedLines<Location>();

  constructor(
    private readonly end: LogEnd,
    private readonly visitor: LogVisitor<Location>,
  ) {
    this.v1Hash = end.seal;
    this.foreignBytes = bytesInFile(end.foreign);
  }

  /** Whether the last block has no seal yet, or the last transaction in format 1 is incomplete. */
  get isWithinBlock(): boolean {
    return this.pending.length > 0;
  }

  /** What does not fit at the end of the log: torn lines, damage, or another program's lines. Null: nothing. */
  get undecidedFault(): LineFault<Location> | null {
    return this.undecided.fault;
  }

  /**
   * Checks the next line. Returns what is damaged; null if nothing is, or if the line is still undecided. Only seals show
   * which lines are the log's and which are foreign. So a line that does not fit stays undecided until a seal that
   * continues the last one shows that the line is not part of its block.
   */
  addLine(bytes: Buffer, location: Location): LineFault<Location> | null {
    if (this.undecided.fault !== null) return this.addUndecided(bytes, location);
    const fault = this.addFitting(bytes, location);
    const isV1 = this.end.isFormat1 && this.end.position > 0;
    if (fault === null || isV1 || fault.isTooLargeToCheck) return fault;
    this.undecided.begin(fault, this.pending);
    this.dropUnsealed();
    return this.addUndecided(bytes, location);
  }

  private addUndecided(bytes: Buffer, location: Location): LineFault<Location> | null {
    const { end, undecided } = this;
    const block = undecided.add(bytes, location, end);
    if (block === 'excess') return undecided.excess(location);
    if (block === null) return null;
    for (const other of undecided.clearAndReturnLinesBefore(block)) {
      const fault = this.addForeign(Buffer.from(other.bytes), other.location);
      if (fault !== null) return fault;
    }
    for (const line of block) {
      const fault = this.addFitting(line.bytes, line.location);
      if (fault !== null) return fault;
    }
    return null;
  }

  private addFitting(bytes: Buffer, location: Location): LineFault<Location> | null {
    const decoded = decodeLine(bytes);
    if (typeof decoded === 'string') return faultAt(location, decoded);
    if (decoded.kind === 'v1') return this.addV1(decoded.line, location);
    if (decoded.kind === 'foreign') return this.addForeign(Buffer.from(bytes), location);
    if (decoded.kind === 'seal') {
      return this.addSeal(decoded.seal, location, this.sealInput.digest(sealedText(bytes)));
    }
    if (!this.isWithinBlock) this.sealInput.begin(this.end.seal);
    const fault = this.addTransactionLine(decoded.line, location, bytes);
    if (fault === null) this.sealInput.addLine(bytes);
    return fault;
  }

  addTransactionLine(line: DecodedLine, location: Location, bytes?: Buffer): LineFault<Location> | null {
    const why = this.v1TransactionError() ?? this.orderError(line);
    // The damaged line may be an earlier line of the block, which may even look foreign because of the damage.
    if (why !== null) return { first: this.firstSinceSeal ?? location, last: location, why };
    this.end.isFormat1 = false;
    this.push(line, location, bytes);
    return null;
  }

  /** `digest` is computed from the lines since the last seal; null: the seal is not to be checked. */
  addSeal(seal: Seal, location: Location, digest: string | null): LineFault<Location> | null {
    const { pending, end } = this;
    const first = pending[0]?.location ?? location;
    // A line of the block may look foreign because it is damaged.
    const countError = this.countError(seal);
    if (countError !== null) return { first: this.firstSinceSeal ?? first, last: location, why: countError };
    if (digest !== null && digest !== seal.seal)
      return { first, last: location, why: 'the seal does not match' };
    if (seal.foreign !== undefined) {
      if (digest !== null && !coversLines(seal.foreign, end.foreign))
        return faultAt(location, CHANGED_FOREIGN);
      this.foreignBytes -= bytesInFile(end.foreign.splice(0, seal.foreign.lines));
    }
    const sealBefore = end.seal;
    end.seal = seal.seal;
    this.finishPending(seal.at_ms);
    this.visitor.onWhole(location, { first, sealBefore });
    return null;
  }

  /** A foreign line after lines without a seal is a fault: their block is torn, and the foreign line was appended later. */
  addForeign(bytes: Buffer, location: Location): LineFault<Location> | null {
    const { pending, end } = this;
    if (this.isWithinBlock) return { first: pending[0]?.location ?? location, last: location, why: UNSEALED };
    this.foreignBytes += bytes.length + 1;
    if (this.foreignBytes > FOREIGN_BYTES_MAX || end.foreign.length >= FOREIGN_LINES_MAX)
      return { ...faultAt(location, FOREIGN_EXCESS), isTooLargeToCheck: true };
    end.isFormat1 = false;
    end.foreign.push(bytes);
    this.firstSinceSeal ??= location;
    this.visitor.onWhole(location, null);
    return null;
  }

  addV1(line: V1Line, location: Location): LineFault<Location> | null {
    if (!this.end.isFormat1) return faultAt(location, 'it has format 1 and follows lines of format 2');
    if (line.prev !== this.v1Hash) return faultAt(location, 'it does not continue the line before it');
    const error = this.orderError(line);
    if (error !== null) return faultAt(location, error);
    this.v1Hash = line.hash;
    this.push(line, location);
    if (this.isWithinTransaction) return null;
    this.end.seal = line.hash;
    this.finishPending(Math.max(...this.pending.map((each) => (each.line as V1Line).at_ms ?? 0)));
    this.visitor.onWhole(location, null);
    return null;
  }

  /** Forgets the lines of a block without a seal: they were cut off, or are undecided from now on. */
  dropUnsealed(): void {
    this.pending = [];
    this.pendingEvents = 0;
    this.pendingKey = this.end.key;
    this.part = SINGLE_PART;
    this.firstSinceSeal = null;
    this.v1Hash = this.end.seal;
  }

  /** Forgets the lines that did not fit, which were cut off or are added again as foreign ones. */
  dropUndecided(): void {
    this.undecided.clear();
  }

  /**
   * The lines whose payloads were changed although no redaction event records it. Call it only after the whole log was
   * read.
   */
  unrecordedRedactions(): Location[] {
    return this.redacted.unrecorded();
  }

  private get isWithinTransaction(): boolean {
    return this.part.part < this.part.parts;
  }

  private v1TransactionError(): string | null {
    return this.isWithinBlock && this.end.isFormat1 ? UNFINISHED : null;
  }

  private countError({ lines }: Seal): string | null {
    const { length } = this.pending;
    if (this.v1TransactionError() !== null || this.isWithinTransaction) return UNFINISHED;
    return length > 0 && length === lines ? null : `the seal counts ${lines} lines, and there are ${length}`;
  }

  /** Why a line cannot follow the lines before it; null if it can. */
  private orderError({ event, log }: DecodedLine): string | null {
    if (!isNextPart(this.part, transactionPart(log.unit)))
      return log.unit === undefined
        ? UNFINISHED
        : `it is part ${log.unit} of a transaction whose other parts are missing`;
    return event === null
      ? null
      : eventPositionError(
          event,
          this.end.key ?? this.pendingKey ?? event,
          this.end.position + this.pendingEvents + 1,
        );
  }

  private push(line: DecodedLine, location: Location, bytes?: Buffer): void {
    this.part = transactionPart(line.log.unit);
    this.firstSinceSeal ??= location;
    if (line.event !== null) {
      this.pendingKey ??= line.event;
      this.pendingEvents += 1;
    }
    this.pending.push(bytes === undefined ? { line, location } : { line, location, bytes });
  }

  private finishPending(atMs: number): void {
    const { pending } = this;
    this.end.position += this.pendingEvents;
    this.end.key ??= this.pendingKey;
    this.pending = [];
    this.pendingEvents = 0;
    this.firstSinceSeal = null;
    for (let from = 0; from < pending.length; ) {
      const { parts } = transactionPart(pending[from]?.line.log.unit);
      const lines = parts === pending.length ? pending : pending.slice(from, from + parts);
      for (const { line, location } of lines) {
        if (line.event !== null) this.redacted.add(line.event, line.isRedacted, location);
      }
      this.visitor.onTransaction(lines, atMs);
      from += parts;
    }
  }
}

const UNSEALED = 'its block has no seal';
const UNFINISHED = 'the transaction before it is incomplete';
const CHANGED_FOREIGN = 'the lines of other programs that its seal covers were changed or removed';

const faultAt = <Location>(location: Location, why: string): LineFault<Location> => ({
  first: location,
  last: location,
  why,
});
