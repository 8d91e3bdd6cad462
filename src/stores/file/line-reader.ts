import { type ReadableFile, readFully } from './disk.js';

const CHUNK_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

/**
 * Visits every line of a file from `from` on, without its newline, with the line's offset. Returns the end of the last
 * whole line: less than the file's size if the file ends within a line.
 */
export async function visitLines(
  file: ReadableFile,
  from: number,
  visit: (line: Buffer, offset: number) => void,
): Promise<number> {
  let rest: Buffer = Buffer.alloc(0);
  let restOffset = from;
  const size = await file.size();
  for (;;) {
    const readOffset = restOffset + rest.length;
    const chunk = await readFully(file, readOffset, Math.max(0, Math.min(CHUNK_BYTES, size - readOffset)));
    if (chunk.length === 0) return restOffset;
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const used = visitWholeLines(bytes, restOffset, visit);
    rest = bytes.subarray(used);
    restOffset += used;
  }
}

/** Returns the number of bytes in the whole lines. */
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

/** The number, from 1, of the line that begins at `offset`. */
export async function lineNumberAt(file: ReadableFile, offset: number): Promise<number> {
  let lineNumber = 1;
  await visitLines(file, 0, (_, at) => {
    if (at < offset) lineNumber += 1;
  });
  return lineNumber;
}
