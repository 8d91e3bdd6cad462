import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MANIFEST_FILES_MAX } from '../../core/methodology/definition/manifest.js';
import { type GitResult, nullSeparated, runGit } from '../git.js';
import { OpenFolder } from '../open-folder.js';
import type { BaseDigests } from './base-record.js';
import { type DraftRefusal, draftRefusal, nameRefusal } from './refusal.js';
import { digestBelow } from './safe-read.js';

export const noWorktreeRefusal = (path: string, why: string): DraftRefusal =>
  draftRefusal('NO_WORKTREE', path, `There is no worktree at ${path}: ${why}.`);

/** `action`: what git could not do. */
export const gitFailedRefusal = (path: string, action: string, message: string): DraftRefusal =>
  draftRefusal('WORKTREE_FAILED', path, `Git could not ${action}: ${message}`);

export const outputLine = (result: GitResult): string =>
  result.ok ? result.out.toString('utf8').replace(/\n$/, '') : '';

const outputPaths = (result: GitResult): string[] => (result.ok ? nullSeparated(result.out) : []);

/** The common git folder; null if the project is not the top folder of a repository. */
export async function gitFolder(root: string): Promise<string | null> {
  const prefix = await runGit(root, ['rev-parse', '--show-prefix']);
  if (!prefix.ok || outputLine(prefix) !== '') return null;
  const common = await runGit(root, ['rev-parse', '--path-format=absolute', '--git-common-dir']);
  return common.ok ? outputLine(common) : null;
}

type RunIndexGit = (args: readonly string[], input?: string) => Promise<GitResult>;

/**
 * Runs git on the project's own repository folder, with a separate index that has the tree of a commit. `workTree`: by
 * default an empty private folder. A refusal names `worktreePath`.
 */
async function withIndex<T>(
  {
    root,
    commit,
    worktreePath,
    workTree,
  }: { root: string; commit: string; worktreePath: string; workTree?: string },
  work: (run: RunIndexGit, folder: string) => Promise<T>,
): Promise<T | DraftRefusal> {
  const repository = await gitFolder(root);
  if (repository === null) return noWorktreeRefusal(worktreePath, 'the project is not a git repository');
  const scratch = await mkdtemp(join(tmpdir(), 'gen-index-'));
  const folder = workTree ?? join(scratch, 'files');
  const env = { GIT_DIR: repository, GIT_WORK_TREE: folder, GIT_INDEX_FILE: join(scratch, 'index') };
  const run: RunIndexGit = (args, input = '') => runGit(folder, args, { env, input });
  try {
    if (workTree === undefined) await mkdir(folder);
    const readTree = await run(['read-tree', commit]);
    return readTree.ok
      ? await work(run, folder)
      : gitFailedRefusal(worktreePath, `read the commit ${commit}`, readTree.message);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/**
 * Paths in a worktree that differ from the base, and new ones that are not ignored. The worktree's own `.git` file
 * is not used: it could point git to configuration that the agent controls.
 */
export function pathsChangedByAgent(
  root: string,
  worktreePath: string,
  commit: string,
): Promise<string[] | DraftRefusal> {
  return withIndex({ root, commit, worktreePath, workTree: join(root, worktreePath) }, async (run) => {
    const base = await run(['ls-files', '--stage', '-z', '--']);
    // Run the diff only once: the new index has no file times, so git reads every file.
    const diff = ['diff', '--no-ext-diff', '--no-textconv', '--no-renames', '--ignore-submodules=all', '-z'];
    const statusesAndPaths = await run([...diff, '--name-status', '--']);
    const added = await run(['ls-files', '--others', '--exclude-standard', '-z', '--']);
    for (const result of [base, statusesAndPaths, added])
      if (!result.ok)
        return gitFailedRefusal(worktreePath, `read the worktree ${worktreePath}`, result.message);
    return (
      (await submoduleRefusal(root, worktreePath, outputPaths(base))) ??
      validateChanges(outputPaths(statusesAndPaths), outputPaths(added))
    );
  });
}

/**
 * Refuses a submodule that is not empty: git must not run there, because the agent controls its configuration, and
 * files in it would be lost silently.
 */
async function submoduleRefusal(
  root: string,
  worktreePath: string,
  base: readonly string[],
): Promise<DraftRefusal | null> {
  for (const line of base) {
    const [, path] = /^160000 [^\t]*\t(.*)$/s.exec(line) ?? [];
    if (path === undefined) continue;
    const folder = await OpenFolder.openBelow(root, `${worktreePath}/${path}`);
    if (folder === 'absent') continue;
    const isEmpty = typeof folder !== 'string' && (await folder.names()).length === 0;
    if (typeof folder !== 'string') await folder.close();
    if (!isEmpty)
      return draftRefusal('NOT_A_FILE', path, `${path} is a submodule, which must stay empty in a worktree.`);
  }
  return null;
}

/** `statusesAndPaths` alternates between the letter of a change, `D` for a deletion, and its path. */
function validateChanges(
  statusesAndPaths: readonly string[],
  added: readonly string[],
): string[] | DraftRefusal {
  const deleted = statusesAndPaths.find((_, index) => index % 2 === 1 && statusesAndPaths[index - 1] === 'D');
  if (deleted !== undefined)
    return draftRefusal('DELETION', deleted, `${deleted} was removed in the worktree.`);
  const nested = added.find((path) => path.endsWith('/'));
  if (nested !== undefined)
    return draftRefusal('NOT_A_FILE', nested, `${nested} is a separate git repository.`);
  const paths = [...statusesAndPaths.filter((_, index) => index % 2 === 1), ...added];
  if (paths.length > MANIFEST_FILES_MAX) {
    const message = `There are more than ${MANIFEST_FILES_MAX} changed files in the worktree.`;
    return draftRefusal('TOO_MANY', '', message);
  }
  return paths.map(nameRefusal).find((refused) => refused !== null) ?? paths;
}

/**
 * Digests of files at a commit, as git would check them out here, since line endings may differ from the stored
 * blobs. Null if a path did not exist. They are checked out to a private folder; a link becomes a file with its
 * target as text.
 */
export function baseDigestsAt(
  root: string,
  commit: string,
  paths: readonly string[],
): Promise<BaseDigests | DraftRefusal> {
  return withIndex({ root, commit, worktreePath: commit }, async (run, folder) => {
    const knownPaths = new Set(outputPaths(await run(['ls-files', '-z', '--'])));
    const input = paths.filter((path) => knownPaths.has(path)).map((path) => `${path}\0`);
    const checkoutArgs = ['-c', 'core.symlinks=false', 'checkout-index', '-z', '--stdin'];
    const written = await run(checkoutArgs, input.join(''));
    if (!written.ok) return gitFailedRefusal(commit, `read the files of ${commit}`, written.message);
    const bases: BaseDigests = new Map();
    for (const path of paths) bases.set(path, await digestBelow(folder, path));
    return bases;
  });
}
