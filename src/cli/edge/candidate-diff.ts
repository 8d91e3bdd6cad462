import { join } from 'node:path';
import {
  type ComparedContent,
  DIFF_FILE_BYTES_MAX,
  diffFiles,
  type FileDiff,
} from '../../coordinator/methodology/file-diffs.js';
import type { PendingReview } from '../../core/contract/reviews.js';
import { readRegularFile } from '../../workspace/regular-file.js';
import type { Workspace } from '../../workspace/workspace.js';

type ReadBlob = (sha256: string, bytesMax: number) => Promise<Uint8Array | null>;

/** Compares the files of a candidate with those in the project now. Empty without a workspace. */
export async function candidateDiffs(
  workspace: Workspace | null,
  { files }: PendingReview,
  readBlob: ReadBlob,
): Promise<FileDiff[]> {
  if (workspace === null) return [];
  const versions = (files ?? []).map(({ path, sha256, size_bytes }) => ({
    path,
    readBefore: () => projectFile(join(workspace.root, path)),
    readAfter: async (): Promise<ComparedContent> => {
      if (size_bytes > DIFF_FILE_BYTES_MAX) return 'too_large';
      const bytes = await readBlob(sha256, DIFF_FILE_BYTES_MAX);
      return bytes === null ? 'unknown' : Buffer.from(bytes);
    },
  }));
  return diffFiles(versions);
}

function projectFile(path: string): ComparedContent {
  const content = readRegularFile(path, DIFF_FILE_BYTES_MAX);
  if (Buffer.isBuffer(content) || content === 'missing' || content === 'too_large') return content;
  return 'not_a_file';
}
