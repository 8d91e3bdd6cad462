import { gitText } from '../../workspace/git.js';

/** Where a folder's repository is. `branch` is null if HEAD is detached, `commit` is null if there is no commit yet. */
interface GitPosition {
  readonly branch: string | null;
  readonly commit: string | null;
}

interface GitMetadata {
  readonly branch: string | null;
  /** The commit at the claim. */
  readonly base: string | null;
  /** The commit at the submission. */
  readonly head: string | null;
  /** The changes from base to head, without the paths; null if git fails or a commit is unknown. */
  readonly diffstat: Diffstat | null;
}

interface Diffstat {
  readonly files: number;
  readonly insertions: number;
  readonly deletions: number;
}

/** Maximum time that a result waits for a git command. */
const GIT_LIMITS = { time_max_ms: 10_000 };
const BRANCH_CHARS_MAX = 255;
const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

/** The branch and commit of a folder. Null outside a work tree, or if git is missing or fails. */
export async function readGitPosition(folder: string): Promise<GitPosition | null> {
  const [isInside, branch, commit] = await Promise.all([
    gitText(folder, ['rev-parse', '--is-inside-work-tree'], GIT_LIMITS),
    gitText(folder, ['symbolic-ref', '--quiet', '--short', 'HEAD'], GIT_LIMITS),
    gitText(folder, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], GIT_LIMITS),
  ]);
  if (isInside !== 'true') return null;
  return {
    branch: branch?.slice(0, BRANCH_CHARS_MAX) ?? null,
    commit: commit !== null && COMMIT.test(commit) ? commit : null,
  };
}

/** The metadata of a result made in the folder since the claim; null outside a repository, or if git failed. */
export async function readGitMetadata(
  folder: string,
  atClaim: GitPosition | null,
): Promise<GitMetadata | null> {
  const atSubmission = atClaim === null ? null : await readGitPosition(folder);
  if (atClaim === null || atSubmission === null) return null;
  const { commit: base } = atClaim;
  const { branch, commit: head } = atSubmission;
  return { branch, base, head, diffstat: await readDiffstat(folder, base, head) };
}

async function readDiffstat(
  folder: string,
  base: string | null,
  head: string | null,
): Promise<Diffstat | null> {
  if (base === null || head === null) return null;
  const text = await gitText(folder, ['diff', '--shortstat', '--no-textconv', base, head, '--'], GIT_LIMITS);
  if (text === null) return null;
  const countOf = (what: RegExp): number => Number(what.exec(text)?.[1] ?? 0);
  return {
    files: countOf(/(\d+) files? changed/),
    insertions: countOf(/(\d+) insertions?\(/),
    deletions: countOf(/(\d+) deletions?\(/),
  };
}
