import type { CheckedLine, LineFault, LogEnd } from './checked-line.js';
import { decodeLine } from './log-line.js';
import { type Seal, SealInput, sealedText } from './seal.js';

export interface UndecidedLine<Location> {
  readonly bytes: Buffer;
  readonly location: Location;
}

/** More than any burst of lines that another program may have appended, and not too much for memory. */
const BYTES_MAX = 64 * 1024 * 1024;

/**
 * Lines that do not fit where they are. They are foreign if a later seal continues the last seal of the log without
 * them; a foreign line may look like anything, also like a line or a seal of the log. They are damaged if a later block
 * continues one among them.
 */
export class UndecidedLines<Location> {
  /** Why the first of them does not fit; null: there are none. */
  fault: LineFault<Location> | null = null;
  private lines: UndecidedLine<Location>[] = [];
  private byteCount = 0;
  /** The last seal among them, which is not one of this chain, unless what it covers is damaged. */
  private lastSeal: string | null = null;

  /** `pending`: the lines of the block that the line is in. */
  begin(fault: LineFault<Location>, pending: readonly CheckedLine<Location>[]): void {
    this.fault = fault;
    for (const { bytes, location } of pending) this.push(bytes ?? Buffer.alloc(0), location);
  }

  /** Returns the whole block that the line ends, if it continues the log; null if nothing is certain yet. */
  add(bytes: Buffer, location: Location, end: LogEnd): readonly UndecidedLine<Location>[] | 'damaged' | null {
    this.push(bytes, location);
    if (this.byteCount > BYTES_MAX) return 'damaged';
    const decoded = decodeLine(bytes);
    if (typeof decoded === 'string' || decoded.kind !== 'seal') return null;
    const { seal } = decoded;
    const block = this.blockOf(seal);
    if (block !== null && digestOf(block, bytes, end.seal) === seal.seal) return block;
    const isOwnBlock =
      block !== null &&
      this.lastSeal !== null &&
      digestOf(block, bytes, this.lastSeal) === seal.seal &&
      // A copy of lines that the log has already proves nothing.
      block.some((line) => positionIn(line.bytes) > end.position);
    this.lastSeal = seal.seal;
    return isOwnBlock ? 'damaged' : null;
  }

  /** Forgets all lines, and returns those before the block. */
  take(block: readonly UndecidedLine<Location>[]): readonly UndecidedLine<Location>[] {
    const others = this.lines.slice(0, this.lines.length - block.length);
    this.clear();
    return others;
  }

  clear(): void {
    this.fault = null;
    this.lines = [];
    this.byteCount = 0;
    this.lastSeal = null;
  }

  /** The lines that a seal counts, and the seal; null if there are not so many. */
  private blockOf({ lines }: Seal): readonly UndecidedLine<Location>[] | null {
    const { length } = this.lines;
    return lines > 0 && lines < length ? this.lines.slice(length - lines - 1) : null;
  }

  private push(bytes: Buffer, location: Location): void {
    // A copy: a line may be a part of a large buffer that would be kept for it.
    this.lines.push({ bytes: Buffer.from(bytes), location });
    this.byteCount += bytes.length;
  }
}

/** The seal of a block that continues `sealBefore`. */
function digestOf(block: readonly UndecidedLine<unknown>[], sealLine: Buffer, sealBefore: string): string {
  const input = new SealInput();
  input.begin(sealBefore);
  for (const { bytes } of block.slice(0, -1)) input.addLine(bytes);
  return input.digest(sealedText(sealLine));
}

function positionIn(bytes: Buffer): number {
  const decoded = decodeLine(bytes);
  if (typeof decoded === 'string' || decoded.kind !== 'transaction') return 0;
  return decoded.line.event?.position ?? 0;
}

/** Whether the bytes of another process contain a block that continues this seal: that process writes to the log too. */
export function hasNextBlock(lines: readonly Buffer[], seal: string): boolean {
  const undecided = new UndecidedLines<null>();
  const end = { key: null, seal, position: Number.POSITIVE_INFINITY, foreign: [], isFormat1: false };
  return lines.some((line) => Array.isArray(undecided.add(line, null, end)));
}
