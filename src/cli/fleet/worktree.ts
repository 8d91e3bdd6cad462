import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { gitText, runGit } from '../../workspace/git.js';
import { CommandFailure } from '../exit.js';

/** The repository that contains a folder. */
export interface Repository {
  readonly root: string;
  /** The folder relative to the root; empty for the root itself. */
  readonly prefix: string;
}

export interface KeptWorktree {
  readonly agent_id: string;
  /** Null if it was removed and only the branch is kept. */
  readonly folder: string | null;
  readonly branch: string;
  /** Commits that the current branch of the repository does not have. Null if git could not count them. */
  readonly commits: number | null;
  /** The worktree has another branch or commit checked out, which may have work that the branch does not have. */
  readonly has_other_checkout: boolean;
  readonly has_uncommitted_changes: boolean;
}

/** The repository that contains the folder; null outside a work tree, and in a repository without a commit to start from. */
export async function findRepository(folder: string): Promise<Repository | null> {
  const root = await gitText(folder, ['rev-parse', '--show-toplevel']);
  const commit = await gitText(folder, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  if (root === null || root === '' || commit === null) return null;
  return { root, prefix: (await gitText(folder, ['rev-parse', '--show-prefix'])) ?? '' };
}

/** The folder in which one agent works, with its branch. */
export class AgentWorktree {
  readonly branch: string;

  private constructor(
    private readonly repository: Repository,
    private readonly agentId: string,
    readonly folder: string,
  ) {
    this.branch = `fleet/${agentId}`;
  }

  /** Creates the worktree at the current commit. An existing worktree or branch of that name is used as it is. */
  static async open(repository: Repository, agentId: string, folder: string): Promise<AgentWorktree> {
    const worktree = new AgentWorktree(repository, agentId, folder);
    if (existsSync(folder)) await worktree.assertUsable();
    else await worktree.add();
    return worktree;
  }

  /** Where the agent starts: the folder in which the fleet was started, if the commit contains it. */
  get startFolder(): string {
    const started = resolve(this.folder, this.repository.prefix);
    return existsSync(started) ? started : this.folder;
  }

  /**
   * Removes the worktree with its branch if git confirms that it has no changes, no commits that the current branch lacks, and
   * no other branch or commit checked out. Otherwise returns which of these it has.
   */
  async finish(): Promise<KeptWorktree | null> {
    const { root } = this.repository;
    const hasFolder = existsSync(this.folder);
    if (!hasFolder) await runGit(root, ['worktree', 'prune']);
    const changes = hasFolder ? await gitText(this.folder, ['status', '--porcelain']) : '';
    const commits = await this.countCommits();
    const has_other_checkout = hasFolder && (await this.checkedOutBranch()) !== this.branch;
    const isRemovable = changes === '' && commits === 0 && !has_other_checkout;
    const remove = ['worktree', 'remove', '--', this.folder];
    if (isRemovable && (!hasFolder || (await runGit(root, remove)).ok)) {
      await runGit(root, ['branch', '--quiet', '-D', '--', this.branch]);
      return null;
    }
    const { agentId: agent_id, branch } = this;
    return {
      agent_id,
      folder: hasFolder ? this.folder : null,
      branch,
      commits,
      has_other_checkout,
      has_uncommitted_changes: changes !== '',
    };
  }

  /**
   * The number of commits that the agent's branch has and the current branch lacks; 0 without the agent's branch. Null if git
   * cannot tell, for example if the current branch has no commits.
   */
  private async countCommits(): Promise<number | null> {
    const { root } = this.repository;
    const ref = `refs/heads/${this.branch}`;
    const branches = await gitText(root, ['for-each-ref', '--format=%(refname)', ref]);
    if (branches !== null && !branches.split('\n').includes(ref)) return 0;
    const count = await gitText(root, ['rev-list', '--count', `HEAD..${ref}`]);
    return count === null ? null : Number(count);
  }

  private checkedOutBranch(): Promise<string | null> {
    return gitText(this.folder, ['symbolic-ref', '--quiet', '--short', 'HEAD']);
  }

  private async add(): Promise<void> {
    const { root } = this.repository;
    // Forgets worktrees whose folder was deleted: git would refuse the same name.
    await runGit(root, ['worktree', 'prune']);
    const branch = await runGit(root, ['rev-parse', '--verify', '--quiet', `refs/heads/${this.branch}`]);
    const words = branch.ok
      ? ['--', this.folder, this.branch]
      : ['-b', this.branch, '--', this.folder, 'HEAD'];
    const added = await runGit(root, ['worktree', 'add', '--quiet', ...words]);
    if (!added.ok) throw this.worktreeFailure(added.message);
  }

  private async assertUsable(): Promise<void> {
    const top = await gitText(this.folder, ['rev-parse', '--show-toplevel']);
    const branch = await this.checkedOutBranch();
    if (top !== (await realpath(this.folder)))
      throw this.worktreeFailure('the folder exists and is not a worktree');
    if (branch !== this.branch) throw this.worktreeFailure(`it is on branch ${branch ?? '(none)'}`);
  }

  private worktreeFailure(reason: string): CommandFailure {
    return new CommandFailure(
      `${this.agentId} gets no worktree in ${this.folder}, branch ${this.branch}: ${reason}. ` +
        'Remove the folder, or name the agents differently. No agent was started.',
    );
  }
}
