import { createHash } from 'node:crypto';
import type { NewEvent } from '../../core/events/envelope.js';
import type { ForeignCover } from './seal.js';

/**
 * Foreign lines are lines, usually JSON, that another program appended between our blocks. They are not events of this
 * log, but they are kept, and one of the next seals covers them.
 */

/** What a seal records of the foreign lines that it covers; undefined if there are none. */
export function coverOf(lines: readonly Buffer[]): ForeignCover | undefined {
  if (lines.length === 0) return undefined;
  const sha256 = createHash('sha256');
  for (const line of lines) sha256.update(line).update('\n');
  return { lines: lines.length, sha256: sha256.digest('base64url') };
}

/** Whether a seal covers the first of these lines, unchanged. */
export function coversLines(cover: ForeignCover, lines: readonly Buffer[]): boolean {
  if (!(cover.lines > 0 && cover.lines <= lines.length)) return false;
  return coverOf(lines.slice(0, cover.lines))?.sha256 === cover.sha256;
}

/**
 * How many bytes and lines of other programs a log keeps in memory until a seal covers them: more than any tool appends
 * at once. The number of lines is limited too, because each line has a separate buffer.
 */
export const FOREIGN_BYTES_MAX = 64 * 1024 * 1024;
export const FOREIGN_LINES_MAX = 200_000;
export const FOREIGN_EXCESS =
  'more lines of other programs follow than a log accepts (64 MiB or 200000 lines that no seal covers). ' +
  'Stop those programs, and move the last lines to a separate file, which gen import reads';

/** The bytes that lines take in the file, with their newlines. */
export const bytesInFile = (lines: readonly Buffer[]): number =>
  lines.reduce((sum, line) => sum + line.length + 1, 0);

/** Where foreign lines were found, and when they are imported. */
export interface ForeignLinesContext {
  /** The last event before them. */
  readonly after_position: number;
  /** The last seal before the batch that imports them; no two batches have the same. */
  readonly seal: string;
  readonly now_ms: number;
}

/** Makes events of foreign lines. An empty line makes no event. */
export type ForeignEvents = (lines: readonly Buffer[], context: ForeignLinesContext) => readonly NewEvent[];

const LINES_PER_BATCH = 256;
const BYTES_PER_BATCH = 1024 * 1024;

export const isBlank = (line: Buffer): boolean => line.toString('latin1').trim() === '';

/** How many of these lines one batch imports. If any line is not blank, the batch has at least one such line. */
export function batchLength(lines: readonly Buffer[]): number {
  let bytes = 0;
  let importedCount = 0;
  for (const [at, line] of lines.entries()) {
    if (importedCount > 0 && (importedCount === LINES_PER_BATCH || bytes + line.length > BYTES_PER_BATCH))
      return at;
    bytes += line.length;
    if (!isBlank(line)) importedCount += 1;
  }
  return lines.length;
}
