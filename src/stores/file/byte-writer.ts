import { Buffer } from 'node:buffer';

/** A UTF-16 code unit takes at most three bytes in UTF-8. */
const BYTES_PER_CHARACTER_MAX = 3;
/** A buffer that grows with what is written, and is used again for the next batch. */
export class ByteWriter {
  length = 0;

  constructor(public bytes: Buffer) {}

  /** A text in UTF-8. */
  utf8(text: string): void {
    this.reserve(text.length * BYTES_PER_CHARACTER_MAX);
    this.length += this.bytes.write(text, this.length);
  }

  /** The bytes of another buffer between two offsets. */
  copyOf(source: Uint8Array, from: number, to: number): void {
    this.reserve(to - from);
    this.bytes.set(source.subarray(from, to), this.length);
    this.length += to - from;
  }

  private reserve(count: number): void {
    const needed = this.length + count;
    if (needed <= this.bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.bytes.length * 2));
    this.bytes.copy(grown, 0, 0, this.length);
    this.bytes = grown;
  }
}
