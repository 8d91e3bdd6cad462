import { isUtf8 } from 'node:buffer';
import { join } from 'node:path';
import type { PendingReview } from '../../core/contract/reviews.js';
import { unifiedDiff } from '../../core/line-diff.js';
import { readRegularFile } from '../../workspace/regular-file.js';
import type { Workspace } from '../../workspace/workspace.js';

const FILE_BYTES_MAX = 256 * 1024;
const DIFF_LINES_MAX = 2000;

/** How a candidate would change one file of the project. */
export interface FileDiff {
  readonly path: string;
  readonly change: 'added' | 'changed' | 'same';
  /** A unified diff; null if the file is only named. */
  readonly diff: string | null;
  /** Why there is no diff, or only a part of it. */
  readonly note: string | null;
}

type ReadBlob = (sha256: string, bytesMax: number) => Promise<Uint8Array | null>;

/** Compares the files of a candidate with those in the project now. Empty without a workspace: nothing is there to compare. */
export async function candidateDiffs(
  workspace: Workspace | null,
  { files }: PendingReview,
  readBlob: ReadBlob,
): Promise<FileDiff[]> {
  if (workspace === null) return [];
  let linesLeft = DIFF_LINES_MAX;
  const diffs: FileDiff[] = [];
  for (const { path, sha256, size_bytes } of files ?? []) {
    const before = readRegularFile(join(workspace.root, path), FILE_BYTES_MAX);
    const after = size_bytes > FILE_BYTES_MAX ? 'too_large' : await readBlob(sha256, FILE_BYTES_MAX);
    const full = compareFile(path, before, after);
    const limited = limitLines(full, linesLeft);
    linesLeft -= limited.diff?.split('\n').length ?? 0;
    diffs.push(limited);
  }
  return diffs;
}

function compareFile(
  path: string,
  before: ReturnType<typeof readRegularFile>,
  after: Uint8Array | 'too_large' | null,
): FileDiff {
  const change = before === 'missing' ? 'added' : 'changed';
  const withoutDiff = (note: string): FileDiff => ({ path, change, diff: null, note });
  if (after === null) return withoutDiff('its content is not available here');
  if (after === 'too_large' || before === 'too_large')
    return withoutDiff(`larger than ${FILE_BYTES_MAX} bytes`);
  if (before !== 'missing' && !Buffer.isBuffer(before))
    return withoutDiff('not a regular file in the project');
  const [old, next] = [before === 'missing' ? Buffer.alloc(0) : before, Buffer.from(after)];
  if (before !== 'missing' && old.equals(next)) return { path, change: 'same', diff: null, note: null };
  if (!isText(old) || !isText(next)) return withoutDiff('binary');
  return { path, change, diff: unifiedDiff(old.toString('utf8'), next.toString('utf8')), note: null };
}

const isText = (bytes: Buffer): boolean => isUtf8(bytes) && !bytes.includes(0);

function limitLines(file: FileDiff, linesMax: number): FileDiff {
  const lines = file.diff?.split('\n') ?? [];
  if (file.diff === null || lines.length <= linesMax) return file;
  const note = `${lines.length - linesMax} more lines are not shown`;
  return { ...file, diff: linesMax === 0 ? null : lines.slice(0, linesMax).join('\n'), note };
}
