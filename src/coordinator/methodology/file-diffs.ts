import { isUtf8 } from 'node:buffer';
import { unifiedDiff } from '../../core/line-diff.js';

export const DIFF_FILE_BYTES_MAX = 256 * 1024;
const DIFF_LINES_MAX = 2000;
const DIFF_LINE_CHARS_MAX = 2000;

/** How a candidate would change one file. */
export interface FileDiff {
  readonly path: string;
  readonly change: 'added' | 'changed' | 'same';
  /** A unified diff; null if none is shown. */
  readonly diff: string | null;
  /** Why there is no diff, or only a part of it. */
  readonly note: string | null;
}

/** The content of a file. `unknown`: the file exists, but its content is not available. */
export type ComparedContent = Buffer | 'missing' | 'too_large' | 'not_a_file' | 'unknown';

interface ComparedFile {
  readonly path: string;
  readonly readBefore: () => ComparedContent | Promise<ComparedContent>;
  readonly readAfter: () => ComparedContent | Promise<ComparedContent>;
}

/** Compares files, one after the other. The lines of all diffs together are limited. */
export async function diffFiles(files: readonly ComparedFile[]): Promise<FileDiff[]> {
  let linesLeft = DIFF_LINES_MAX;
  const diffs: FileDiff[] = [];
  for (const { path, readBefore, readAfter } of files) {
    const full = compareFile(path, await readBefore(), await readAfter());
    const limited = limitLines(full, linesLeft);
    linesLeft -= limited.diff?.split('\n').length ?? 0;
    diffs.push(limited);
  }
  return diffs;
}

function compareFile(path: string, before: ComparedContent, after: ComparedContent): FileDiff {
  const change = before === 'missing' ? 'added' : 'changed';
  const withoutDiff = (note: string): FileDiff => ({ path, change, diff: null, note });
  if (before === 'too_large' || after === 'too_large')
    return withoutDiff(`larger than ${DIFF_FILE_BYTES_MAX} bytes`);
  if (before === 'not_a_file') return withoutDiff('not a regular file in the project');
  if (typeof after === 'string') return withoutDiff('its content is not available here');
  const beforeBytes = typeof before === 'string' ? Buffer.alloc(0) : before;
  if (typeof before !== 'string' && beforeBytes.equals(after))
    return { path, change: 'same', diff: null, note: null };
  if (!isText(beforeBytes) || !isText(after)) return withoutDiff('binary');
  const note =
    before === 'unknown'
      ? 'its earlier content is not stored here, so all of its lines are shown as new'
      : null;
  return { path, change, diff: unifiedDiff(beforeBytes.toString('utf8'), after.toString('utf8')), note };
}

const isText = (bytes: Buffer): boolean => isUtf8(bytes) && !bytes.includes(0);

/** Cuts a long line and says so: a reviewer must not take the cut for the end of the line. */
function limitChars(line: string): string {
  const hiddenChars = line.length - DIFF_LINE_CHARS_MAX;
  return hiddenChars <= 0
    ? line
    : `${line.slice(0, DIFF_LINE_CHARS_MAX)} … (${hiddenChars} more characters are not shown)`;
}

function limitLines(file: FileDiff, linesMax: number): FileDiff {
  if (file.diff === null) return file;
  const lines = file.diff.split('\n');
  const shown = lines.slice(0, linesMax).map(limitChars);
  const diff = linesMax === 0 ? null : shown.join('\n');
  const hiddenLines = lines.length - linesMax;
  return hiddenLines <= 0
    ? { ...file, diff }
    : { ...file, diff, note: `${hiddenLines} more lines are not shown` };
}
