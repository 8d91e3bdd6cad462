import { type ReadableFile, readFully } from './disk.js';

const CHUNK_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;
/** No line of this store comes near this size. */
const LINE_BYTES_MAX = 256 * 1024 * 1024;

/**
 * Visits every line of a file from `from` on, without its newline, with the line's offset. Returns the end of the last
 * whole line: less than the file's size if the file ends within a line, or a line is too long to be read.
 */
export async function visitLines(
  file: ReadableFile,
  from: number,
  visit: (line: Buffer, offset: number) => void,
): Promise<number> {
  /** The beginning of a line. It is joined once, when its end is found: a line may have many chunks. */
  let lineChunks: Buffer[] = [];
  let lineOffset = from;
  let readOffset = from;
  const size = await file.size();
  for (;;) {
    const chunk = await readFully(file, readOffset, Math.max(0, Math.min(CHUNK_BYTES, size - readOffset)));
    if (chunk.length === 0 || readOffset - lineOffset > LINE_BYTES_MAX) return lineOffset;
    readOffset += chunk.length;
    lineChunks.push(chunk);
    if (!chunk.includes(NEWLINE)) continue;
    const bytes = lineChunks.length === 1 ? chunk : Buffer.concat(lineChunks);
    const wholeBytes = visitWholeLines(bytes, lineOffset, visit);
    lineChunks = wholeBytes === bytes.length ? [] : [bytes.subarray(wholeBytes)];
    lineOffset += wholeBytes;
  }
}

/** Visits the whole lines in these bytes. Returns the number of bytes that these lines have. */
export function visitWholeLines(
  bytes: Buffer,
  offset: number,
  visit: (line: Buffer, offset: number) => void,
): number {
  let start = 0;
  for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
    visit(bytes.subarray(start, end), offset + start);
    start = end + 1;
  }
  return start;
}

/** The whole lines in these bytes, without their newlines. */
export function linesIn(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  visitWholeLines(bytes, 0, (line) => lines.push(line));
  return lines;
}

/** The number, from 1, of the line that begins at `offset`. */
export async function lineNumberAt(file: ReadableFile, offset: number): Promise<number> {
  let lineNumber = 1;
  await visitLines(file, 0, (_, at) => {
    if (at < offset) lineNumber += 1;
  });
  return lineNumber;
}
