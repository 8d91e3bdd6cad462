import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { sha256Hex } from '../../coordinator/runtime/identity.js';
import { pathFault } from '../../core/methodology/definition/asset-path.js';
import { MANIFEST_FILES_MAX, type ResultManifest } from '../../core/methodology/definition/manifest.js';
import { OpenFolder } from '../open-folder.js';
import type { BaseDigests } from './base-record.js';
import { DraftCollector } from './draft-collector.js';
import {
  type BlobTarget,
  type DraftFolders,
  type DraftScope,
  draftFoldersOf,
  type ProjectFolder,
} from './draft-folders.js';
import { type GitResult, nullSeparated, runGit } from './git.js';
import { type DraftRefusal, draftRefusal, isDraftRefusal } from './refusal.js';
import { isFileContent, noopStepHook, readBelow, type StepHook } from './safe-read.js';
import { writeBelow } from './safe-write.js';

/** The agent, subject and generation that a worktree belongs to. */
export interface WorktreeScope extends DraftScope {
  readonly generation: number;
}

export interface Worktree {
  /** Relative to the project's root. */
  readonly folder: string;
  readonly branch: string;
  readonly base_commit: string;
}

const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;
const recordSchema = z.strictObject({ base_commit: z.string().regex(COMMIT) });

/**
 * The path and branch of a grant's worktree. Dots in ids are escaped too, because git forbids `..` in a ref name.
 */
export function worktreePaths(folders: DraftFolders, generation: number) {
  const folder = [...folders.agent, 'worktrees'];
  const name = `${folders.feature}__${folders.edge}-gen${generation}`;
  const ref = (part: string) => part.replaceAll('.', '%2E');
  const branch = `gen/${ref(folders.feature)}/${ref(folders.edge)}/${generation}`;
  return { names: [...folder, name], record: [...folder, `${name}.base.json`], branch };
}

/** The common git folder; null if the project is not the top folder of a repository. */
export async function gitFolder(project: ProjectFolder): Promise<string | null> {
  const prefix = await runGit(project.root, ['rev-parse', '--show-prefix']);
  if (!prefix.ok || outputLine(prefix) !== '') return null;
  const common = await runGit(project.root, ['rev-parse', '--path-format=absolute', '--git-common-dir']);
  return common.ok ? outputLine(common) : null;
}

const outputLine = (result: GitResult): string =>
  result.ok ? result.out.toString('utf8').replace(/\n$/, '') : '';

export async function hasWorktree(project: ProjectFolder, scope: WorktreeScope): Promise<boolean> {
  const folders = draftFoldersOf(project, scope);
  return (
    !isDraftRefusal(folders) &&
    (await readBaseCommit(project, worktreePaths(folders, scope.generation).record)) !== null
  );
}

/** Creates a grant's worktree at the project's current commit. An existing one is returned with its contents. */
export async function addWorktree(
  project: ProjectFolder,
  scope: WorktreeScope,
): Promise<Worktree | DraftRefusal> {
  const folders = draftFoldersOf(project, scope);
  if (isDraftRefusal(folders)) return folders;
  const { names, record, branch } = worktreePaths(folders, scope.generation);
  const folder = names.join('/');
  const before = await readBaseCommit(project, record);
  const base_commit =
    before ?? outputLine(await runGit(project.root, ['rev-parse', '--verify', 'HEAD^{commit}']));
  if (!COMMIT.test(base_commit)) return noWorktreeRefusal(folder, 'the project has no commit to start from');
  if (before !== null && (await isFolder(project, names))) return { folder, branch, base_commit };
  const bytes = Buffer.from(`${JSON.stringify({ base_commit })}\n`);
  if (!(await writeBelow(project.root, record, { bytes })))
    return noWorktreeRefusal(folder, 'something is in its way');
  const known = await runGit(project.root, ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`]);
  // If only the folder was lost, reuse the branch with its commits.
  const what = known.ok ? ['--', folder, branch] : ['-b', branch, '--', folder, base_commit];
  const added = await runGit(project.root, ['worktree', 'add', '--quiet', '--force', ...what]);
  return added.ok ? { folder, branch, base_commit } : noWorktreeRefusal(folder, added.message);
}

async function isFolder(project: ProjectFolder, names: readonly string[]): Promise<boolean> {
  const folder = await OpenFolder.openBelow(project.root, names);
  if (typeof folder === 'string') return false;
  await folder.close();
  return true;
}

const noWorktreeRefusal = (path: string, why: string): DraftRefusal =>
  draftRefusal('NO_WORKTREE', path, `There is no worktree at ${path}: ${why}.`);

export async function readBaseCommit(
  project: ProjectFolder,
  record: readonly string[],
): Promise<string | null> {
  const read = await readBelow(project.root, record.join('/'), { links: 'one' });
  if (!isFileContent(read)) return null;
  try {
    return recordSchema.parse(JSON.parse(read.bytes.toString('utf8'))).base_commit;
  } catch {
    return null;
  }
}

/** Builds the candidate from the files changed in a worktree since its base, read like drafts. */
export async function collectWorktree(
  project: ProjectFolder,
  target: BlobTarget,
  scope: WorktreeScope,
  onStep: StepHook = noopStepHook,
): Promise<ResultManifest | DraftRefusal> {
  const folders = draftFoldersOf(project, scope);
  if (isDraftRefusal(folders)) return folders;
  const { names, record } = worktreePaths(folders, scope.generation);
  const where = names.join('/');
  const baseCommit = await readBaseCommit(project, record);
  if (!(await isFolder(project, names))) return noWorktreeRefusal(where, 'it was never made, or is gone');
  if (baseCommit === null)
    return draftRefusal('BAD_BASE', where, `Nothing says what ${where} was begun from.`);
  const changed = await changedPaths(project, where, baseCommit);
  if (isDraftRefusal(changed)) return changed;
  const bases = await baseDigestsAt(project, baseCommit, changed);
  if (isDraftRefusal(bases)) return bases;
  const collection = new DraftCollector(project, target, bases, onStep);
  for (const path of changed) {
    const refused = await addFile(project, names, path, collection);
    if (refused !== null) return refused;
  }
  return collection.manifest(where);
}

async function addFile(
  project: ProjectFolder,
  names: readonly string[],
  path: string,
  collection: DraftCollector,
): Promise<DraftRefusal | null> {
  const parts = path.split('/');
  const folder = await OpenFolder.openBelow(project.root, [...names, ...parts.slice(0, -1)]);
  if (typeof folder === 'string')
    return draftRefusal('SYMLINK', path, `A folder on the way to ${path} is a link.`);
  try {
    return await collection.add({ path, folder, name: parts.at(-1) as string });
  } finally {
    await folder.close();
  }
}

/**
 * Paths that differ from the base, and new ones that are not ignored. Uses our own repository folder and index: the
 * worktree's `.git` file could point git to configuration that the agent controls.
 */
export async function changedPaths(
  project: ProjectFolder,
  where: string,
  baseCommit: string,
): Promise<string[] | DraftRefusal> {
  const gitFolderPath = await gitFolder(project);
  if (gitFolderPath === null) return noWorktreeRefusal(where, 'the project is no git repository');
  const scratch = await mkdtemp(join(tmpdir(), 'gen-index-'));
  const worktree = join(project.root, where);
  const env = { GIT_DIR: gitFolderPath, GIT_WORK_TREE: worktree, GIT_INDEX_FILE: join(scratch, 'index') };
  try {
    const read = await runGit(worktree, ['read-tree', baseCommit], { env });
    if (!read.ok) return noWorktreeRefusal(where, read.message);
    const base = await runGit(worktree, ['ls-files', '--stage', '-z', '--'], { env });
    // Run it only once: the new index has no file times, so git reads every file.
    const diff = ['diff', '--no-ext-diff', '--no-textconv', '--no-renames', '--ignore-submodules=all', '-z'];
    const differs = await runGit(worktree, [...diff, '--name-status', '--'], { env });
    const added = await runGit(worktree, ['ls-files', '--others', '--exclude-standard', '-z', '--'], { env });
    for (const result of [base, differs, added])
      if (!result.ok) return noWorktreeRefusal(where, result.message);
    return (
      (await submoduleRefusal(project, where, base)) ??
      validateChanges(statusesOf(differs), outputPaths(added))
    );
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

const outputPaths = (result: GitResult): string[] => (result.ok ? nullSeparated(result.out) : []);

/** Status letter by path: `D` if it was deleted. */
function statusesOf(differs: GitResult): ReadonlyMap<string, string> {
  const entries = outputPaths(differs);
  const pairs = Array.from(
    { length: entries.length / 2 },
    (_, at) => [entries[2 * at + 1], entries[2 * at]] as const,
  );
  return new Map(pairs as [string, string][]);
}

/**
 * Refuses a submodule that is not empty: git must not run there, because the agent controls its configuration, and
 * files in it would be lost silently.
 */
async function submoduleRefusal(
  project: ProjectFolder,
  where: string,
  base: GitResult,
): Promise<DraftRefusal | null> {
  for (const line of outputPaths(base)) {
    const [, path] = /^160000 [^\t]*\t(.*)$/s.exec(line) ?? [];
    if (path === undefined) continue;
    const folder = await OpenFolder.openBelow(project.root, [...where.split('/'), ...path.split('/')]);
    if (folder === 'absent') continue;
    const empty = typeof folder !== 'string' && (await folder.names()).length === 0;
    if (typeof folder !== 'string') await folder.close();
    if (!empty)
      return draftRefusal('NOT_A_FILE', path, `${path} is a submodule, and stays empty in a worktree.`);
  }
  return null;
}

function validateChanges(
  differs: ReadonlyMap<string, string>,
  added: readonly string[],
): string[] | DraftRefusal {
  const [deleted] = [...differs].find(([, status]) => status === 'D') ?? [];
  if (deleted !== undefined)
    return draftRefusal('DELETION', deleted, `${deleted} was removed in the worktree.`);
  const nested = added.find((path) => path.endsWith('/'));
  if (nested !== undefined)
    return draftRefusal('NOT_A_FILE', nested, `${nested} is a repository of its own.`);
  const paths = [...differs.keys(), ...added];
  if (paths.length > MANIFEST_FILES_MAX) {
    return draftRefusal(
      'TOO_MANY',
      '',
      `There are more than ${MANIFEST_FILES_MAX} changed files in the worktree.`,
    );
  }
  for (const path of paths) {
    const fault = pathFault(path);
    if (fault !== null) return draftRefusal('BAD_NAME', path, `${JSON.stringify(path)}: ${fault}.`);
  }
  return paths;
}

/**
 * Digests of files at a commit, as git would check them out here, since line endings may differ from the stored
 * blobs. Null if a path did not exist. They are checked out to a private folder; a link becomes a file with its
 * target as text.
 */
export async function baseDigestsAt(
  project: ProjectFolder,
  commit: string,
  paths: readonly string[],
): Promise<BaseDigests | DraftRefusal> {
  const gitFolderPath = await gitFolder(project);
  if (gitFolderPath === null) return noWorktreeRefusal(commit, 'the project is no git repository');
  const scratch = await mkdtemp(join(tmpdir(), 'gen-base-'));
  const files = join(scratch, 'files');
  const env = { GIT_DIR: gitFolderPath, GIT_WORK_TREE: files, GIT_INDEX_FILE: join(scratch, 'index') };
  try {
    await mkdir(files);
    const read = await runGit(files, ['read-tree', commit], { env });
    const known = new Set(outputPaths(await runGit(files, ['ls-files', '-z', '--'], { env })));
    const input = paths.filter((path) => known.has(path)).map((path) => `${path}\0`);
    const put = ['-c', 'core.symlinks=false', 'checkout-index', '-z', '--stdin'];
    const written = await runGit(files, put, { env, input: input.join('') });
    for (const result of [read, written]) if (!result.ok) return noWorktreeRefusal(commit, result.message);
    return await digestsBelow(files, paths);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function digestsBelow(folder: string, paths: readonly string[]): Promise<BaseDigests> {
  const bases: BaseDigests = new Map();
  for (const path of paths) {
    const read = await readBelow(folder, path, { links: 'any' });
    bases.set(path, isFileContent(read) ? sha256Hex(read.bytes) : null);
  }
  return bases;
}

/** Removes a worktree that is no longer needed. The worktree of a refused result is kept. */
export async function removeWorktree(
  project: ProjectFolder,
  scope: WorktreeScope,
): Promise<DraftRefusal | null> {
  const folders = draftFoldersOf(project, scope);
  if (isDraftRefusal(folders)) return folders;
  const { names, record, branch } = worktreePaths(folders, scope.generation);
  if (await isFolder(project, names)) {
    const removed = await runGit(project.root, ['worktree', 'remove', '--force', '--', names.join('/')]);
    if (!removed.ok) return noWorktreeRefusal(names.join('/'), removed.message);
  }
  await runGit(project.root, ['branch', '--quiet', '-D', '--', branch]);
  const folder = await OpenFolder.openBelow(project.root, record.slice(0, -1));
  if (typeof folder === 'string') return null;
  await rm(folder.pathOf(record.at(-1) as string), { force: true });
  await folder.close();
  return null;
}
