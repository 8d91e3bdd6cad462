import type { CheckedLine, LineFault, LogEnd } from './checked-line.js';
import { FOREIGN_BYTES_MAX, FOREIGN_EXCESS, FOREIGN_LINES_MAX } from './foreign-lines.js';
import { decodeLine } from './log-line.js';
import { SealInput, sealedText } from './seal.js';

interface UndecidedLine<Location> {
  readonly bytes: Buffer;
  readonly location: Location;
  /** The total size of the lines before it. */
  readonly byteCountBefore: number;
}

/** Enough for the largest number of foreign lines that the log accepts, followed by one block. */
const BYTES_MAX = 2 * FOREIGN_BYTES_MAX;
const LINES_MAX = 2 * FOREIGN_LINES_MAX;
/**
 * Genuine blocks do not overlap, so at most all bytes and one newline per line are hashed. A forged seal can
 * claim any number of lines, so hashing stops at this sum.
 */
const HASHED_BYTES_MAX = BYTES_MAX + LINES_MAX;

/**
 * Lines that do not fit at their place. If a later seal continues the log's last seal without them, they are
 * foreign. A foreign line can look like anything, even a line or a seal of this log. If no such seal follows,
 * the lines are damage or the torn end of the log.
 */
export class UndecidedLines<Location> {
  /** Why the first of them does not fit; null: there are none. */
  fault: LineFault<Location> | null = null;
  private lines: UndecidedLine<Location>[] = [];
  private byteCount = 0;
  private hashedBytes = 0;

  /** Starts with the fault of the next line. `pending` are the lines before it in its block. */
  begin(fault: LineFault<Location>, pending: readonly CheckedLine<Location>[]): void {
    this.fault = fault;
    for (const { bytes, location } of pending) this.push(bytes ?? Buffer.alloc(0), location);
  }

  /** The whole block that the line ends, if it continues the log. Null: nothing is certain yet. 'excess': too many lines. */
  add(
    bytes: Buffer,
    location: Location,
    end: Pick<LogEnd, 'seal'>,
  ): readonly UndecidedLine<Location>[] | 'excess' | null {
    this.push(bytes, location);
    if (this.byteCount > BYTES_MAX || this.lines.length > LINES_MAX) return 'excess';
    const decoded = decodeLine(bytes);
    if (typeof decoded === 'string' || decoded.kind !== 'seal') return null;
    const { seal } = decoded;
    const first = this.lines[this.lines.length - seal.lines - 1];
    if (!(seal.lines > 0) || first === undefined) return null;
    this.hashedBytes += this.byteCount - first.byteCountBefore + seal.lines;
    if (this.hashedBytes > HASHED_BYTES_MAX) return 'excess';
    const block = this.lines.slice(this.lines.length - seal.lines - 1);
    return sealDigestOf(block, bytes, end.seal) === seal.seal ? block : null;
  }

  /** The fault of a log with too many undecided lines, up to the last of them. */
  excess(last: Location): LineFault<Location> {
    const { first, why } = this.fault ?? { first: last, why: 'it is not a line of this log' };
    return { first, last, why: `${why}, and after it ${FOREIGN_EXCESS}`, isTooLargeToCheck: true };
  }

  /** Forgets all lines, and returns those before the block. */
  clearAndReturnLinesBefore(block: readonly UndecidedLine<Location>[]): readonly UndecidedLine<Location>[] {
    const others = this.lines.slice(0, this.lines.length - block.length);
    this.clear();
    return others;
  }

  clear(): void {
    this.fault = null;
    this.lines = [];
    this.byteCount = 0;
    this.hashedBytes = 0;
  }

  private push(bytes: Buffer, location: Location): void {
    // Copied, because a line may be a slice that keeps a large buffer in memory.
    this.lines.push({ bytes: Buffer.from(bytes), location, byteCountBefore: this.byteCount });
    this.byteCount += bytes.length;
  }
}

/** The seal of a block if it continues `sealBefore`. The last line of the block is `sealLine`. */
function sealDigestOf(
  block: readonly UndecidedLine<unknown>[],
  sealLine: Buffer,
  sealBefore: string,
): string {
  const input = new SealInput();
  input.begin(sealBefore);
  for (const { bytes } of block.slice(0, -1)) input.addLine(bytes);
  return input.digest(sealedText(sealLine));
}

/**
 * Whether the lines of another process contain a block that continues this seal: if so, that process writes to the log
 * too. 'excess': there are too many lines to find out, now and when the log is opened again.
 */
export function findNextBlock(lines: readonly Buffer[], seal: string): boolean | 'excess' {
  const undecided = new UndecidedLines<null>();
  for (const line of lines) {
    const block = undecided.add(line, null, { seal });
    if (block !== null) return block === 'excess' ? block : true;
  }
  return false;
}
