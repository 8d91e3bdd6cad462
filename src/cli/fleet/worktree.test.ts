import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { git } from '../../../test/support/git.js';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { AgentWorktree, findRepository, type Repository } from './worktree.js';

async function createRepository(): Promise<{ repository: Repository; folder: string }> {
  const root = await temporaryFolder();
  git(root, 'init', '--quiet', '--initial-branch', 'main');
  await mkdir(join(root, 'app'));
  await writeFile(join(root, 'app', 'a.txt'), 'a\n');
  git(root, 'add', '.');
  git(root, 'commit', '--quiet', '-m', 'begin');
  const repository = await findRepository(join(root, 'app'));
  if (repository === null) throw new Error('not a repository');
  return { repository, folder: join(root, '.genesis', 'fleet', 'builder-1') };
}

it('findRepository returns null outside of a repository, and in a repository without a commit', async () => {
  const folder = await temporaryFolder();
  expect(await findRepository(folder)).toBeNull();
  git(folder, 'init', '--quiet');
  expect(await findRepository(folder)).toBeNull();
});

it('a worktree is removed with its branch if it holds nothing new', async () => {
  const { repository, folder } = await createRepository();
  const worktree = await AgentWorktree.open(repository, 'builder-1', folder);
  expect(worktree.startFolder).toBe(join(folder, 'app'));
  expect(git(folder, 'symbolic-ref', '--short', 'HEAD')).toBe('fleet/builder-1');
  expect(await worktree.finish()).toBeNull();
  expect(existsSync(folder)).toBe(false);
  expect(git(repository.root, 'branch', '--list', 'fleet/*')).toBe('');
});

it('a worktree with commits or changes is kept, and the next fleet continues in it', async () => {
  const { repository, folder } = await createRepository();
  const worktree = await AgentWorktree.open(repository, 'builder-1', folder);
  git(folder, 'commit', '--quiet', '--allow-empty', '-m', 'work');
  const kept = {
    agent_id: 'builder-1',
    folder,
    branch: 'fleet/builder-1',
    commits: 1,
    has_other_checkout: false,
  };
  expect(await worktree.finish()).toEqual({ ...kept, has_uncommitted_changes: false });
  const again = await AgentWorktree.open(repository, 'builder-1', folder);
  await writeFile(join(folder, 'new.txt'), 'new\n');
  expect(await again.finish()).toEqual({ ...kept, has_uncommitted_changes: true });
  expect(git(folder, 'log', '-1', '--format=%s')).toBe('work');
});

it('a worktree whose folder is gone is created again from its branch', async () => {
  const { repository, folder } = await createRepository();
  await AgentWorktree.open(repository, 'builder-1', folder);
  git(folder, 'commit', '--quiet', '--allow-empty', '-m', 'work');
  execFileSync('rm', ['-r', folder]);
  await AgentWorktree.open(repository, 'builder-1', folder);
  expect(git(folder, 'log', '-1', '--format=%s')).toBe('work');
});

it('an existing folder that is not a worktree is refused, and stays as it is', async () => {
  const { repository, folder } = await createRepository();
  await mkdir(folder, { recursive: true });
  await expect(AgentWorktree.open(repository, 'builder-1', folder)).rejects.toThrow('is not a worktree');
  expect(existsSync(folder)).toBe(true);
});

it('a worktree whose folder was removed is reported only if its branch has commits', async () => {
  const { repository, folder } = await createRepository();
  const empty = await AgentWorktree.open(repository, 'builder-1', folder);
  execFileSync('rm', ['-r', folder]);
  expect(await empty.finish()).toBeNull();
  expect(git(repository.root, 'branch', '--list', 'fleet/*')).toBe('');
  const used = await AgentWorktree.open(repository, 'builder-1', folder);
  git(folder, 'commit', '--quiet', '--allow-empty', '-m', 'work');
  execFileSync('rm', ['-r', folder]);
  expect(await used.finish()).toMatchObject({ folder: null, commits: 1, has_uncommitted_changes: false });
});

it('a worktree is kept if git cannot count its commits', async () => {
  const { repository, folder } = await createRepository();
  const worktree = await AgentWorktree.open(repository, 'builder-1', folder);
  git(folder, 'commit', '--quiet', '--allow-empty', '-m', 'work');
  git(repository.root, 'switch', '--quiet', '--orphan', 'empty');
  expect(await worktree.finish()).toMatchObject({ folder, commits: null });
  expect(git(folder, 'log', '-1', '--format=%s')).toBe('work');
});

it('a worktree whose agent has left its branch is kept, because its commits may be on no branch', async () => {
  const { repository, folder } = await createRepository();
  const worktree = await AgentWorktree.open(repository, 'builder-1', folder);
  git(folder, 'checkout', '--quiet', '--detach');
  git(folder, 'commit', '--quiet', '--allow-empty', '-m', 'work');
  expect(await worktree.finish()).toMatchObject({ folder, commits: 0, has_other_checkout: true });
  expect(git(folder, 'log', '-1', '--format=%s')).toBe('work');
});

it('a worktree is removed if its branch was deleted and nothing else is in it', async () => {
  const { repository, folder } = await createRepository();
  const worktree = await AgentWorktree.open(repository, 'builder-1', folder);
  execFileSync('rm', ['-r', folder]);
  git(repository.root, 'worktree', 'prune');
  git(repository.root, 'branch', '-D', 'fleet/builder-1');
  expect(await worktree.finish()).toBeNull();
});
