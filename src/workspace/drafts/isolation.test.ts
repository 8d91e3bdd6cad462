import { execFileSync } from 'node:child_process';
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import { CoordinatorHarness, P } from '../../../test/support/coordinator-harness.js';
import { runGit } from '../git.js';
import { beginDrafts } from './begin.js';
import { collectDrafts } from './collect.js';
import { convergeFromDrafts } from './converge.js';
import { cleanUpWorktree, createGrantFolders, removeGrantFolders } from './isolation.js';
import { promote } from './promote.js';
import { isDraftRefusal } from './refusal.js';
import { ALPHA, DraftsHarness, digest, EDGE, write } from './testing/drafts-harness.js';

const GRANT = { ...ALPHA, generation: 1 };
const FEATURE = '%52%45%51-%46-%50%41%59-1';
const DRAFTS = `.ai-workspace/agents/alpha/drafts/${FEATURE}/code_unit_tests`;

describe('the folders of a grant', () => {
  // req: WSP-001, WSP-007
  test('are created once, for drafts and for scratch files', async () => {
    const workspace = await DraftsHarness.open();
    const scratch = '.ai-workspace/agents/alpha/scratch';
    for (const _ of [1, 2]) {
      expect(await createGrantFolders(workspace, GRANT)).toEqual({
        kind: 'drafts',
        work: DRAFTS,
        scratch,
        branch: null,
      });
    }
    expect(await readdir(join(workspace.root, scratch))).toEqual([]);
    expect(workspace.draftPath()).toBe(join(workspace.root, DRAFTS));
  });

  test('are refused when a link blocks their path', async () => {
    const workspace = await DraftsHarness.open();
    await mkdir(join(workspace.root, 'elsewhere'));
    await symlink(join(workspace.root, 'elsewhere'), workspace.path('agents'));
    expect(await createGrantFolders(workspace, GRANT)).toMatchObject({ refused: 'SYMLINK' });
    expect(await readdir(join(workspace.root, 'elsewhere'))).toEqual([]);
  });

  test('keep the drafts of an earlier grant except those that were promoted', async () => {
    const workspace = await DraftsHarness.open();
    await workspace.writeShared('copied', 'same');
    await beginDrafts(workspace, ALPHA, ['copied']);
    await workspace.writeDraft('done', 'done');
    const manifest = await workspace.collected();
    await promote(workspace, workspace, { ...GRANT, position: 1, manifest, human_approved: false });
    await workspace.writeDraft('next', 'next');
    await createGrantFolders(workspace, { ...GRANT, generation: 2 });
    expect((await readdir(workspace.draftPath())).sort()).toEqual(['copied', 'next']);
    await workspace.writeShared('done', 'changed since');
    await workspace.writeDraft('done', 'once more');
    expect((await workspace.collected()).files).toMatchObject([
      { path: 'done', base_sha256: digest('changed since') },
      { path: 'next', base_sha256: null },
    ]);
  });
});

describe('a git worktree for a grant', () => {
  const WORK = `.ai-workspace/agents/alpha/worktrees/${FEATURE}__code_unit_tests-gen1`;

  async function repository() {
    const workspace = await DraftsHarness.open();
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=ann', '-c', 'user.email=ann@example.org', ...args], {
        cwd: workspace.root,
        encoding: 'utf8',
      }).trim();
    git('init', '--quiet', '--initial-branch=main');
    await workspace.writeShared('.gitignore', '.ai-workspace/\nignored\n');
    await workspace.writeShared('src/a.ts', 'old');
    await workspace.writeShared('src/same.ts', 'same');
    git('add', '.');
    git('commit', '--quiet', '-m', 'start');
    await writeFile(workspace.path('coordination.yml'), 'isolation: worktree\n');
    const at = (path: string) => join(workspace.root, WORK, path);
    return { workspace, git, at };
  }
  const collect = (workspace: DraftsHarness) => collectDrafts(workspace, workspace, GRANT);

  test('gives its changed and new files, each with its base', async () => {
    const { workspace, git, at } = await repository();
    expect(await createGrantFolders(workspace, GRANT)).toMatchObject({
      kind: 'worktree',
      work: WORK,
      branch: `gen/${FEATURE}/code_unit_tests/1`,
    });
    await write(at('src/a.ts'), 'new');
    await write(at('src/größe 日本.ts'), 'new');
    await write(at('bin/run'), 'run', 0o755);
    await write(at('ignored'), 'x');
    execFileSync('git', ['-C', at(''), 'add', 'bin/run']);
    const manifest = await collect(workspace);
    if (isDraftRefusal(manifest)) throw new Error(manifest.says);
    expect(manifest.files).toMatchObject([
      { path: 'bin/run', executable: true, base_sha256: null },
      { path: 'src/a.ts', sha256: digest('new'), base_sha256: digest('old') },
      { path: 'src/größe 日本.ts', base_sha256: null },
    ]);
    // Commits on the agent's branch are part of the result too, and requesting the same grant again changes
    // nothing.
    execFileSync('git', ['-C', at(''), '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qam', 'x']);
    await createGrantFolders(workspace, GRANT);
    expect(await collect(workspace)).toEqual(manifest);
    await promote(workspace, workspace, { ...GRANT, position: 1, manifest, human_approved: false });
    expect(await workspace.readShared('src/a.ts')).toBe('new');
    expect(await collect(workspace)).toEqual(manifest);
    expect(await removeGrantFolders(workspace, GRANT)).toBeNull();
    expect(git('worktree', 'list').split('\n')).toHaveLength(1);
    expect(git('branch', '--list', 'gen/*')).toBe('');
    expect(await readdir(workspace.path('agents/alpha/worktrees'))).toEqual([]);
    expect(await removeGrantFolders(workspace, GRANT)).toBeNull();
  });

  test('is created again with its commits after its folder was lost', async () => {
    const { workspace, at } = await repository();
    await createGrantFolders(workspace, GRANT);
    await write(at('src/a.ts'), 'new');
    execFileSync('git', ['-C', at(''), '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qam', 'x']);
    await rm(at(''), { recursive: true });
    expect(await collect(workspace)).toMatchObject({ refused: 'NO_WORKTREE' });
    await createGrantFolders(workspace, GRANT);
    expect(await collect(workspace)).toMatchObject({ files: [{ path: 'src/a.ts' }] });
  });

  test('compares files as they are on disk when git stores them with other line endings', async () => {
    const { workspace, git, at } = await repository();
    await workspace.writeShared('.gitattributes', '*.txt eol=crlf\n');
    await workspace.writeShared('a b.txt', 'one\r\n');
    git('add', '.');
    git('commit', '--quiet', '-m', 'line ends');
    await createGrantFolders(workspace, GRANT);
    expect(await collect(workspace)).toMatchObject({ refused: 'NO_DRAFTS' });
    await write(at('a b.txt'), 'two\r\n');
    expect(await collect(workspace)).toMatchObject({
      files: [{ path: 'a b.txt', sha256: digest('two\r\n'), base_sha256: digest('one\r\n') }],
    });
  });

  test('refuses what drafts refuse, and also deleted files', async () => {
    const { workspace, at } = await repository();
    await createGrantFolders(workspace, GRANT);
    expect(await collect(workspace)).toMatchObject({ refused: 'NO_DRAFTS' });
    await symlink('/etc/passwd', at('src/link.ts'));
    expect(await collect(workspace)).toMatchObject({ refused: 'SYMLINK', path: 'src/link.ts' });
    await rm(at('src/link.ts'));
    await write(at('src/a.ts'), 'new');
    await workspace.writeShared('src/a.ts', 'by hand');
    expect(await collect(workspace)).toMatchObject({ refused: 'BASE_CHANGED', path: 'src/a.ts' });
    await rm(at('src/same.ts'));
    expect(await collect(workspace)).toMatchObject({ refused: 'DELETION', path: 'src/same.ts' });
  });

  test('runs no program of the agent: no hook, no fsmonitor, no configuration of another repository', async () => {
    const { workspace, git, at } = await repository();
    const ran = join(workspace.root, 'ran');
    const script = `#!/bin/sh\ntouch ${ran}\n`;
    await write(join(workspace.root, '.git/hooks/post-checkout'), script, 0o755);
    await write(join(workspace.root, 'evil.sh'), script, 0o755);
    git('config', 'core.fsmonitor', join(workspace.root, 'evil.sh'));
    git('config', 'diff.external', join(workspace.root, 'evil.sh'));
    await createGrantFolders(workspace, GRANT);
    expect(await workspace.readShared('ran')).toBeNull();
    await write(at('src/a.ts'), 'new');
    git('clone', '--quiet', '--bare', '.', 'evil.git');
    execFileSync('git', [
      '-C',
      join(workspace.root, 'evil.git'),
      'config',
      'filter.x.clean',
      join(workspace.root, 'evil.sh'),
    ]);
    await writeFile(at('.gitattributes'), '* filter=x\n');
    await writeFile(at('.git'), `gitdir: ${join(workspace.root, 'evil.git')}\n`);
    await rm(ran, { force: true });
    expect(await collect(workspace)).toMatchObject({
      files: [{ path: '.gitattributes' }, { path: 'src/a.ts' }],
    });
    expect(await workspace.readShared('ran')).toBeNull();
  });

  test('refuses files in a submodule or in a nested repository, which its removal would lose', async () => {
    const { workspace, git, at } = await repository();
    git('init', '--quiet', 'lib');
    git('-C', 'lib', 'commit', '--quiet', '--allow-empty', '-m', 'lib');
    git('add', 'lib');
    git('commit', '--quiet', '-m', 'a submodule');
    await createGrantFolders(workspace, GRANT);
    expect(await collect(workspace)).toMatchObject({ refused: 'NO_DRAFTS' });
    await write(at('lib/new.ts'), 'mine');
    expect(await collect(workspace)).toMatchObject({ refused: 'NOT_A_FILE', path: 'lib' });
    expect(await cleanUpWorktree(workspace, GRANT)).toContain('lib is a submodule');
    await rm(at('lib'), { recursive: true });
    await symlink('/etc', at('lib'));
    expect(await collect(workspace)).toMatchObject({ refused: 'NOT_A_FILE', path: 'lib' });
    await rm(at('lib'));
    git('clone', '--quiet', 'lib', at('nested'));
    expect(await collect(workspace)).toMatchObject({ refused: 'NOT_A_FILE', path: 'nested/' });
  });

  test.each([
    ['--upload-pack=x', '--upload-pack=x'],
    ['-x', '-x'],
    ['..', '..'],
    ['a', 'x.lock'],
    ['a', '@{-1}'],
    ['a', 'HEAD'],
  ])(
    'of agent %s for feature %s has its own folder and branch, and is removed completely',
    async (agent_id, feature) => {
      const { workspace, git } = await repository();
      const grant = { agent_id, subject: `${feature}#code_unit_tests`, generation: 1 };
      const made = await createGrantFolders(workspace, grant);
      if (isDraftRefusal(made)) throw new Error(made.says);
      expect(git('for-each-ref', '--format=%(refname:short)', 'refs/heads/gen')).toBe(made.branch);
      await write(join(workspace.root, made.work, 'src/a.ts'), 'new');
      expect(await collectDrafts(workspace, workspace, grant)).toMatchObject({
        files: [{ path: 'src/a.ts' }],
      });
      expect(await removeGrantFolders(workspace, grant)).toBeNull();
      expect(git('for-each-ref', 'refs/heads/gen')).toBe('');
      expect(git('worktree', 'list').split('\n')).toHaveLength(1);
    },
  );

  test('starts from a commit, also from a detached one, and is refused without a commit', async () => {
    const { workspace, git } = await repository();
    git('checkout', '--quiet', '--detach');
    expect(await createGrantFolders(workspace, GRANT)).toMatchObject({ kind: 'worktree' });
    await rm(join(workspace.root, '.git'), { recursive: true });
    git('init', '--quiet');
    expect(await createGrantFolders(workspace, { ...GRANT, generation: 2 })).toMatchObject({
      refused: 'NO_WORKTREE',
      says: expect.stringContaining('no commit to start from'),
    });
  });

  test('kills a git process that exceeds its time limit', async () => {
    const { workspace, git: set } = await repository();
    // Runs for as long as git itself does.
    set('config', 'alias.hang', '!while kill -0 $PPID; do sleep 0.1; done');
    expect(await runGit(workspace.root, ['hang'], { time_max_ms: 50 })).toEqual({
      ok: false,
      message: 'git hang exceeded its time or output limit',
    });
  });

  test('is not used for a project that is not the top folder of a repository', async () => {
    const { workspace } = await repository();
    const part = new DraftsHarness(join(workspace.root, 'src'));
    await mkdir(part.path(), { recursive: true });
    await writeFile(part.path('coordination.yml'), 'isolation: worktree\n');
    expect(await createGrantFolders(part, GRANT)).toMatchObject({ kind: 'drafts' });
    const plain = await DraftsHarness.open();
    await writeFile(plain.path('coordination.yml'), 'isolation: worktree\n');
    expect(await createGrantFolders(plain, GRANT)).toMatchObject({ kind: 'drafts' });
  });
});

describe('converging an edge from its drafts', () => {
  // req: WSP-001
  test('promotes the files to the project, and keeps the drafts of a refused result', async () => {
    const harness = await CoordinatorHarness.open('file');
    const workspace = await DraftsHarness.open();
    const log = { store: harness.store, blobs: harness.blobs, key: P, coordinator: harness.coordinator };
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    await alpha.claims(EDGE);
    const body = alpha.handle(EDGE);
    const request = { agent_id: 'alpha', body };
    expect(await convergeFromDrafts(workspace, log, request)).toMatchObject({ refused: 'NO_DRAFTS' });
    await workspace.writeDraft('src/a.ts', 'a');
    const stale = { agent_id: 'alpha', body: { ...body, generation: 7 } };
    expect(await convergeFromDrafts(workspace, log, stale)).toMatchObject({
      reply: { accepted: false, reason: 'FUTURE_GENERATION' },
      promotion: null,
    });
    expect(await workspace.readShared('src/a.ts')).toBeNull();
    for (const written of [['src/a.ts'], []]) {
      // The second iteration repeats the accepted submission, as if its first reply had been lost.
      expect(await convergeFromDrafts(workspace, log, request)).toMatchObject({
        reply: { accepted: true, reason: 'ACCEPTED' },
        promotion: { written, conflicts: [] },
      });
      expect(await workspace.readShared('src/a.ts')).toBe('a');
    }
  });
});
