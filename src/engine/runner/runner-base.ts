import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstat, mkdtemp, readFile, readlink, realpath, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { EvidenceBase } from '../../core/engine/evidence.js';
import { listProjectFiles } from '../checks/project-files.js';
import { COPY_LIMITS } from '../checks/work-copy.js';

/** The files that a candidate is laid over, fetched by the runner itself. */
export interface FetchedBase {
  readonly base: EvidenceBase;
  readonly folder: string;
  /** Installed dependencies. They are not in the folder, because git does not contain them. */
  readonly dependencies: readonly { readonly source: string; readonly target: string }[];
  remove(): Promise<void>;
}

const runFile = promisify(execFile);
const GIT_TIMEOUT_MS = 120_000;
/** The git configuration of the repository must not run a program. */
const SAFE_GIT_OPTIONS = ['-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false'];

const gitIn =
  (repo: string) =>
  async (...args: string[]): Promise<string> =>
    (
      await runFile('git', ['-C', repo, ...SAFE_GIT_OPTIONS, ...args], { timeout: GIT_TIMEOUT_MS })
    ).stdout.trim();

const commitOf = (repo: string, reference: string): Promise<string> =>
  gitIn(repo)('rev-parse', '--verify', '--end-of-options', `${reference}^{commit}`);

/** Why the reference cannot be used as a base; null if it names a commit of the repository. */
export async function gitFault(repo: string, reference: string): Promise<string | null> {
  const commit = await commitOf(repo, reference).catch(() => null);
  return commit === null ? `${repo} is not a git repository with a commit ${reference}.` : null;
}

/** The fault of a folder as a base; null if it can be used. */
export async function folderFault(folder: string): Promise<string | null> {
  const stats = await stat(folder).catch(() => null);
  return stats?.isDirectory() === true ? null : `${folder} is not a folder.`;
}

/** The commit that a reference names now, checked out into a separate folder. */
export async function fetchGitBase(repo: string, reference: string): Promise<FetchedBase> {
  const git = gitIn(repo);
  const commit = await commitOf(repo, reference);
  const privateFolder = await mkdtemp(join(await realpath(tmpdir()), 'genesis-base-'));
  const folder = join(privateFolder, 'project');
  const remove = async () => {
    await git('worktree', 'remove', '--force', folder).catch(() => {});
    await rm(privateFolder, { recursive: true, force: true });
  };
  try {
    await git('worktree', 'add', '--detach', folder, commit);
    const { dependencies } = await listProjectFiles(repo, COPY_LIMITS.files);
    const installed = dependencies.map((target) => ({ source: join(repo, target), target }));
    return { base: { kind: 'git', commit }, folder, dependencies: installed, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** A folder as the base, identified by the digest of its files. No other process may write to the folder meanwhile. */
export async function fetchFolderBase(folder: string): Promise<FetchedBase> {
  const { files } = await listProjectFiles(folder, COPY_LIMITS.files);
  if (files.length > COPY_LIMITS.files)
    throw new Error(
      `${folder} has more than ${COPY_LIMITS.files} files. List generated files in .gitignore.`,
    );
  const treeHash = createHash('sha256');
  for (const path of [...files].sort()) {
    const content = await fileDigest(join(folder, path));
    treeHash.update(`${JSON.stringify([path, content])}\n`);
  }
  const base = { kind: 'tree', sha256: treeHash.digest('hex') } as const;
  return { base, folder, dependencies: [], remove: async () => {} };
}

/** The digest of a file; null if there is none. For a symbolic link, the digest of the path that it contains. */
export async function fileDigest(path: string): Promise<string | null> {
  const stats = await lstat(path).catch(() => null);
  if (stats === null) return null;
  const bytes = stats.isSymbolicLink() ? Buffer.from(await readlink(path)) : await readFile(path);
  return createHash('sha256').update(bytes).digest('hex');
}
