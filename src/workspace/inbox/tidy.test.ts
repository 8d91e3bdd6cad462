import { execFileSync } from 'node:child_process';
import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { git } from '../../../test/support/git.js';
import {
  bareWorkspace,
  EDGE,
  FEATURE,
  KEY,
  readOutcome,
  WorkspaceHarness,
  writeInboxCommand,
} from '../testing/workspace-harness.js';
import type { Workspace } from '../workspace.js';
import { Serialiser } from './serialiser.js';

const edgeFields = { feature: FEATURE, edge: EDGE, generation: 1 };
const released = { event_type: 'edge_released', ...edgeFields };
const converged = { event_type: 'edge_converged', ...edgeFields };

interface WorktreeSetup {
  readonly workspace: Workspace;
  /** The agent's work folder as an absolute path. */
  readonly work: string;
  send(name: string, command: object): Promise<{ reply: Record<string, unknown> }>;
}

/** A git repository in which an agent has claimed an edge and works in a worktree. */
async function openWorktreeSetup(): Promise<WorktreeSetup> {
  const workspace = await bareWorkspace();
  await appendFile(workspace.path('coordination.yml'), 'isolation: worktree\n');
  await writeFile(join(workspace.root, 'a.ts'), 'old');
  git(workspace.root, 'init', '-q');
  await writeFile(join(workspace.root, '.gitignore'), '.ai-workspace/\n');
  git(workspace.root, 'add', '.');
  git(workspace.root, 'commit', '-qm', 'x');
  const { coordinator, store } = await WorkspaceHarness.open(workspace);
  const { FolderBlobs } = await import('../../stores/file/folder-blobs.js');
  const serialiser = new Serialiser({
    events: workspace.events,
    context: {
      project: workspace,
      coordinator,
      store,
      blobs: new FolderBlobs(workspace.events),
      key: KEY,
      hasGrantFolders: true,
    },
    now: () => new Date(),
    warn: () => {},
  });
  const send = async (name: string, command: object) => {
    await writeInboxCommand(workspace, 'a-01', name, command);
    await serialiser.pass();
    return readOutcome(workspace, 'a-01', name);
  };
  const { reply } = await send('0.json', { event_type: 'edge_claim', feature: FEATURE, edge: EDGE });
  return { workspace, send, work: join(workspace.root, reply.work as string) };
}

const countWorktrees = ({ workspace }: WorktreeSetup): number =>
  git(workspace.root, 'worktree', 'list').split('\n').length - 1;

it('removes the worktree after its files were promoted', async () => {
  const setup = await openWorktreeSetup();
  await writeFile(join(setup.work, 'a.ts'), 'new');
  expect((await setup.send('1.json', converged)).reply).toMatchObject({ accepted: true });
  expect(await readFile(join(setup.workspace.root, 'a.ts'), 'utf8')).toBe('new');
  expect(countWorktrees(setup)).toBe(0);
  expect(await readdir(setup.workspace.path('agents', 'a-01', 'worktrees'))).toEqual([]);
});

it('removes a worktree without changes', async () => {
  const setup = await openWorktreeSetup();
  const { reply } = await setup.send('1.json', released);
  expect(reply).toEqual({ success: true, reason: 'RELEASED' });
  expect(countWorktrees(setup)).toBe(0);
});

it.each(['uncommitted', 'committed', 'committed and then reverted'])(
  'keeps a worktree with changes that are %s, and reports it',
  async (changeState) => {
    const setup = await openWorktreeSetup();
    await writeFile(join(setup.work, 'a.ts'), 'mine');
    const gitOptions = ['-C', setup.work, '-c', 'user.name=a', '-c', 'user.email=a@b'];
    if (changeState !== 'uncommitted') execFileSync('git', [...gitOptions, 'commit', '-qam', 'x']);
    if (changeState.endsWith('reverted')) await writeFile(join(setup.work, 'a.ts'), 'old');
    const { reply } = await setup.send('1.json', released);
    expect(reply).toMatchObject({
      reason: 'RELEASED',
      next: expect.stringContaining("does not have the worktree's version of a.ts"),
    });
    expect(countWorktrees(setup)).toBe(1);
  },
);

it('keeps a worktree with files that were not part of an accepted result', async () => {
  const setup = await openWorktreeSetup();
  await writeFile(join(setup.work, 'b.ts'), 'mine');
  const { reply } = await setup.send('1.json', { ...converged, result: { done: true } });
  expect(reply).toMatchObject({
    accepted: true,
    next: expect.stringContaining("does not have the worktree's version of b.ts"),
  });
  expect(await readFile(join(setup.work, 'b.ts'), 'utf8')).toBe('mine');
});
