import { isUtf8 } from 'node:buffer';
import { createHash, type Hash } from 'node:crypto';
import type { ForeignLine } from '../../core/events/foreign-log.js';

/** A longer line is stored as a blob that its event names. */
const INLINE_BYTES_MAX = 64 * 1024;
/** Longer lines are not buffered: only their digest, size and prefix are kept. */
const BUFFERED_BYTES_MAX = 16 * 1024 * 1024;
const PREFIX_BYTES = 1024;
const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

export type StoreBlob = (sha256: string, bytes: Uint8Array) => Promise<void>;

/** Splits a log into lines. Memory is bounded by the longest line that is kept, whatever the input. */
export async function* foreignLines(input: AsyncIterable<Uint8Array>, storeBlob: StoreBlob) {
  let lineNumber = 1;
  let line = new LineBuffer();
  for await (const piece of input) {
    const chunk = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      line.add(chunk.subarray(start, end));
      yield await line.finish(lineNumber, storeBlob);
      lineNumber += 1;
      line = new LineBuffer();
      start = end + 1;
    }
    // Copied, because the reader may reuse its buffer.
    line.add(Buffer.from(chunk.subarray(start)));
  }
  if (line.size > 0) yield await line.finish(lineNumber, storeBlob);
}

class LineBuffer {
  size = 0;
  private chunks: Buffer[] = [];
  /** Set once the line is too long to buffer. */
  private hash: Hash | null = null;

  add(bytes: Buffer): void {
    this.size += bytes.length;
    if (this.hash !== null) this.hash.update(bytes);
    else if (this.size <= BUFFERED_BYTES_MAX) this.chunks.push(bytes);
    else this.switchToHashing(bytes);
  }

  async finish(line: number, storeBlob: StoreBlob): Promise<ForeignLine> {
    const bytes = stripMarkers(Buffer.concat(this.chunks), line);
    if (this.hash !== null) {
      const why = `it is longer than ${BUFFERED_BYTES_MAX} bytes: only its digest and its beginning are kept`;
      const notInline = { why, sha256: this.hash.digest('hex'), size_bytes: this.size };
      return { line, text: textPrefix(bytes), notInline };
    }
    if (bytes.length <= INLINE_BYTES_MAX && isUtf8(bytes)) return { line, text: bytes.toString('utf8') };
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    await storeBlob(sha256, bytes);
    const why = isUtf8(bytes) ? `it is longer than ${INLINE_BYTES_MAX} bytes` : 'it is not UTF-8 text';
    const notInline = { why, sha256, size_bytes: bytes.length, blob_sha256: sha256 };
    return { line, text: textPrefix(bytes), notInline };
  }

  private switchToHashing(bytes: Buffer): void {
    this.hash = createHash('sha256');
    for (const chunk of this.chunks) this.hash.update(chunk);
    this.hash.update(bytes);
    this.chunks = [Buffer.from(Buffer.concat(this.chunks).subarray(0, PREFIX_BYTES))];
  }
}

const textPrefix = (bytes: Buffer): string => bytes.toString('utf8', 0, PREFIX_BYTES);

/** Strips a byte order mark at the start of the file and a carriage return at the end of the line. */
function stripMarkers(bytes: Buffer, line: number): Buffer {
  const from = line === 1 && bytes.indexOf(BYTE_ORDER_MARK) === 0 ? BYTE_ORDER_MARK.length : 0;
  return bytes.subarray(from, bytes.at(-1) === CARRIAGE_RETURN ? -1 : undefined);
}
