import { createHash } from 'node:crypto';
import type { ForeignCover } from './seal.js';

/**
 * Foreign lines are lines of JSON that another program appended between our blocks. They are not events of this log,
 * but they are kept, and the next seal covers them.
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

/** The bytes that lines take in the file, with their newlines. */
export const bytesInFile = (lines: readonly Buffer[]): number =>
  lines.reduce((sum, line) => sum + line.length + 1, 0);
