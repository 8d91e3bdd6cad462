import { isObject } from '../../core/events/plain-data.js';
import { base64urlDigest, CHAIN_START, DIGEST_LENGTH, NOT_OURS, PAYLOAD_MARK_BYTES } from './line.js';

/**
 * The last line of a block:
 *
 *   {"seal":"…","lines":2,"durable":41,"at_ms":1767225600000}
 *
 * `seal` is the SHA-256 of: the seal before and a newline; each line of the block up to its payload and a newline; the
 * text of this line after the seal itself.
 */
export interface Seal {
  readonly seal: string;
  /** The lines of the block, without this one. */
  readonly lines: number;
  /** The last position known to be durable when the block was sealed. */
  readonly durable: number;
  /** The store's time at the last transaction of the block. Events carry the time of their command. */
  readonly at_ms: number;
  /** The previous block was written together with this one, so this one does not prove that the previous was durable. */
  readonly continues?: true;
  /** The foreign lines that this seal covers: this many, from the first that no earlier seal covers. */
  readonly foreign?: ForeignCover;
}

export interface ForeignCover {
  readonly lines: number;
  /** The digest of the lines, each with its newline. */
  readonly sha256: string;
}

export const SEAL_PREFIX = Buffer.from('{"seal":"');
const SEAL_END = Buffer.from('",');
const SEALED_FROM = SEAL_PREFIX.length + DIGEST_LENGTH + SEAL_END.length;
/** No seal line is longer: its numbers have at most 16 digits. */
export const SEAL_BYTES_MAX = 320;

/** Reads a seal from the bytes of its line and its parsed JSON. A string: why the line is not a seal. */
export function sealOf(bytes: Buffer, parsed: object): Seal | string {
  const { seal, lines, durable, at_ms, foreign } = parsed as Partial<Record<keyof Seal, unknown>>;
  const isSeal =
    bytes.length > SEALED_FROM &&
    bytes.compare(SEAL_PREFIX, 0, SEAL_PREFIX.length, 0, SEAL_PREFIX.length) === 0 &&
    bytes.compare(SEAL_END, 0, SEAL_END.length, SEALED_FROM - SEAL_END.length, SEALED_FROM) === 0 &&
    typeof seal === 'string' &&
    seal.length === DIGEST_LENGTH &&
    [lines, durable, at_ms].every(Number.isFinite) &&
    (foreign === undefined || isObject(foreign));
  return isSeal ? (parsed as Seal) : NOT_OURS;
}

/** The seal in the line that ends these bytes. If that line has no seal, the result matches no block. */
export function sealAtEnd(bytes: Buffer): string {
  const line = bytes.subarray(bytes.lastIndexOf(NEWLINE, bytes.length - 2) + 1);
  return line
    .toString('latin1', SEAL_PREFIX.length, SEAL_PREFIX.length + DIGEST_LENGTH)
    .padEnd(DIGEST_LENGTH, CHAIN_START);
}

/** The text of a seal line after the seal itself. */
export const sealedText = (line: Buffer): Buffer => line.subarray(SEALED_FROM);

const INITIAL_BYTES = 8 * 1024;
const NEWLINE = 0x0a;

/** Collects what a seal covers, in one buffer that is reused, and hashes it in one call. */
export class SealInput {
  private buffer = Buffer.allocUnsafe(INITIAL_BYTES);
  private length = 0;

  get memoryBytes(): number {
    return this.buffer.length;
  }

  /** Starts a block. */
  begin(sealBefore: string): void {
    this.length = this.buffer.write(sealBefore, 0, 'latin1');
    this.addNewline();
  }

  /** Adds a line without its newline. */
  addLine(line: Buffer): void {
    const payloadIndex = line.indexOf(PAYLOAD_MARK_BYTES);
    this.addCovered(line, 0, payloadIndex < 0 ? line.length : payloadIndex);
  }

  /** Adds the covered part of a line: the bytes of `source` between two offsets. */
  addCovered(source: Buffer, from: number, to: number): void {
    this.reserve(to - from + 1);
    source.copy(this.buffer, this.length, from, to);
    this.length += to - from;
    this.addNewline();
  }

  /** Ends the block with the text of the seal line, and returns the seal. */
  digest(text: string | Buffer): string {
    const bytes = typeof text === 'string' ? Buffer.from(text, 'latin1') : text;
    this.reserve(bytes.length);
    bytes.copy(this.buffer, this.length);
    return base64urlDigest(this.buffer.subarray(0, this.length + bytes.length));
  }

  private addNewline(): void {
    this.buffer[this.length] = NEWLINE;
    this.length += 1;
  }

  private reserve(bytes: number): void {
    if (this.length + bytes <= this.buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.length + bytes, this.buffer.length * 2));
    this.buffer.copy(grown, 0, 0, this.length);
    this.buffer = grown;
  }
}
