import { sha256Hex } from '../../coordinator/runtime/identity.js';
import { draftFoldersOf, type ProjectFolder } from './draft-folders.js';
import { nullSeparated, runGit } from './git.js';
import { isDraftRefusal } from './refusal.js';
import { isFileContent, readBelow } from './safe-read.js';
import {
  baseDigestsAt,
  changedPaths,
  readBaseCommit,
  removeWorktree,
  type WorktreeScope,
  worktreePaths,
} from './worktree.js';

/**
 * Removes a worktree after its grant has ended, if the project already contains every change in it and on its
 * branch. Otherwise keeps it and returns the reason. Null: the worktree no longer exists.
 */
export async function cleanUpWorktree(project: ProjectFolder, scope: WorktreeScope): Promise<string | null> {
  const folders = draftFoldersOf(project, scope);
  if (isDraftRefusal(folders)) return null;
  const { names, record, branch } = worktreePaths(folders, scope.generation);
  const baseCommit = await readBaseCommit(project, record);
  if (baseCommit === null) return null;
  const where = names.join('/');
  const unpromoted =
    (await unpromotedInWorktree(project, where, baseCommit)) ??
    (await unpromotedOnBranch(project, branch, baseCommit));
  if (unpromoted !== null) return `${where} is kept: ${unpromoted}`;
  const failed = await removeWorktree(project, scope);
  return failed === null ? null : `${where} is kept: ${failed.says}`;
}

/** Changes that only the worktree has; null if none. */
async function unpromotedInWorktree(
  project: ProjectFolder,
  where: string,
  baseCommit: string,
): Promise<string | null> {
  const changed = await changedPaths(project, where, baseCommit);
  if (isDraftRefusal(changed)) return changed.says;
  for (const path of changed) {
    const here = await digestAt(project, `${where}/${path}`);
    if (here === null || here !== (await digestAt(project, path))) return notPromotedMessage(path);
  }
  return null;
}

/** Changes that only its branch has; null if none. */
async function unpromotedOnBranch(
  project: ProjectFolder,
  branch: string,
  baseCommit: string,
): Promise<string | null> {
  const range = [baseCommit, `refs/heads/${branch}`];
  const result = await runGit(project.root, ['diff', '--name-only', '--no-renames', '-z', ...range, '--']);
  if (!result.ok) return result.message;
  const paths = nullSeparated(result.out);
  const committed = await baseDigestsAt(project, `refs/heads/${branch}`, paths);
  if (isDraftRefusal(committed)) return committed.says;
  for (const path of paths) {
    if (committed.get(path) !== (await digestAt(project, path))) return notPromotedMessage(path);
  }
  return null;
}

async function digestAt(project: ProjectFolder, path: string): Promise<string | null> {
  const read = await readBelow(project.root, path, { links: 'any' });
  return isFileContent(read) ? sha256Hex(read.bytes) : null;
}

const notPromotedMessage = (path: string): string => `the project does not have its ${path}.`;
