import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { PendingReview } from '../../core/contract/reviews.js';
import { findDraftPaths } from '../../workspace/drafts/draft-paths.js';
import { isDraftRefusal } from '../../workspace/drafts/refusal.js';
import type { Workspace } from '../../workspace/workspace.js';

type ReviewedFile = NonNullable<PendingReview['files']>[number];

/** A candidate's file, and the path where a person can read it. */
export interface ReviewedDraft extends ReviewedFile {
  /** The agent's draft, relative to the project's root; null if it is not on this machine. */
  readonly draft: string | null;
  /** Whether the draft still equals what was submitted; false without a draft. */
  readonly is_same: boolean;
}

export async function findReviewedDrafts(
  workspace: Workspace | null,
  { agent_id, task_id, files }: PendingReview,
): Promise<ReviewedDraft[]> {
  const draftPaths =
    workspace === null ? null : await findDraftPaths(workspace, { agent_id, subject: task_id });
  return Promise.all(
    (files ?? []).map(async (file) => {
      if (workspace === null || draftPaths === null || isDraftRefusal(draftPaths)) return withoutDraft(file);
      const draft = `${draftPaths.drafts}/${file.path}`;
      const sha256 = await digestOf(join(workspace.root, draft), file.size_bytes);
      return sha256 === null ? withoutDraft(file) : { ...file, draft, is_same: sha256 === file.sha256 };
    }),
  );
}

const withoutDraft = (file: ReviewedFile): ReviewedDraft => ({ ...file, draft: null, is_same: false });

/** SHA-256 of a file; null if it is missing or cannot be read. Empty if the size differs: then the file is not read. */
async function digestOf(path: string, sizeBytes: number): Promise<string | null> {
  const stats = await lstat(path).catch(() => null);
  if (!stats?.isFile()) return null;
  if (stats.size !== sizeBytes) return '';
  const hash = createHash('sha256');
  const failure = await pipeline(createReadStream(path), hash).catch((error: Error) => error);
  return failure === undefined ? hash.digest('hex') : null;
}
