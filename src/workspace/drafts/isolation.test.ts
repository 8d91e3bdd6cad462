import { execFileSync } from 'node:child_process';
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import { CoordinatorHarness, PROJECT_KEY } from '../../../test/support/coordinator-harness.js';
import { git as gitIn } from '../../../test/support/git.js';
import { runGit } from '../git.js';
import { beginDrafts } from './begin.js';
import { collectDrafts } from './collect.js';
import { convergeFromDrafts } from './converge.js';
import { cleanUpWorktree, createGrantFolders, removeGrantFolders } from './isolation.js';
import { promote } from './promote.js';
import { isDraftRefusal } from './refusal.js';
import { ALPHA, DraftsHarness, digest, EDGE, write } from './testing/drafts-harness.js';

const GRANT = { ...ALPHA, generation: 1 };
const FEATURE = 'REQ-F-PAY-1+u';
const EARLIER_FEATURE = '%52%45%51-%46-%50%41%59-1';
const DRAFTS = `.ai-workspace/agents/alpha/drafts/${FEATURE}/code_unit_tests`;

describe('the folders of a grant', () => {
  // req: WSP-001, WSP-007
  test('are created once, for drafts and for scratch files', async () => {
    const harness = await DraftsHarness.open();
    const scratch = '.ai-workspace/agents/alpha/scratch';
    for (const _ of [1, 2]) {
      expect(await createGrantFolders(harness, GRANT)).toEqual({
        kind: 'drafts',
        work: DRAFTS,
        scratch,
        branch: null,
      });
    }
    expect(await readdir(join(harness.root, scratch))).toEqual([]);
    expect(harness.draftPath()).toBe(join(harness.root, DRAFTS));
  });

  test('are those that an earlier version created under its name of the feature, while they exist', async () => {
    const harness = await DraftsHarness.open();
    const earlier = DRAFTS.replace(FEATURE, EARLIER_FEATURE);
    await write(join(harness.root, earlier, 'kept'), 'kept');
    await write(join(harness.root, `${earlier}.base.json`), '{"bases":{"kept":null}}\n');
    expect(await createGrantFolders(harness, GRANT)).toMatchObject({ work: earlier });
    expect(await collectDrafts(harness, harness, GRANT)).toMatchObject({ files: [{ path: 'kept' }] });
    await harness.writeShared('begun', 'shared');
    await beginDrafts(harness, ALPHA, ['begun']);
    expect((await readdir(join(harness.root, earlier))).sort()).toEqual(['begun', 'kept']);
    expect(await readdir(harness.workspacePath('agents/alpha/drafts'))).toEqual([EARLIER_FEATURE]);
    await rm(harness.workspacePath('agents/alpha/drafts'), { recursive: true });
    expect(await createGrantFolders(harness, GRANT)).toMatchObject({ work: DRAFTS });
  });

  test('are refused when a link blocks their path', async () => {
    const harness = await DraftsHarness.open();
    await mkdir(join(harness.root, 'elsewhere'));
    await symlink(join(harness.root, 'elsewhere'), harness.workspacePath('agents'));
    expect(await createGrantFolders(harness, GRANT)).toMatchObject({ refused: 'SYMLINK' });
    expect(await readdir(join(harness.root, 'elsewhere'))).toEqual([]);
  });

  test('keep the drafts of an earlier grant except those that were promoted', async () => {
    const harness = await DraftsHarness.open();
    await harness.writeShared('copied', 'same');
    await beginDrafts(harness, ALPHA, ['copied']);
    await harness.writeDraft('done', 'done');
    const manifest = await harness.collectValid();
    await promote(harness, harness, { ...GRANT, position: 1, manifest, human_approved: false });
    await harness.writeDraft('next', 'next');
    await createGrantFolders(harness, { ...GRANT, generation: 2 });
    expect((await readdir(harness.draftPath())).sort()).toEqual(['copied', 'next']);
    await harness.writeShared('done', 'changed since');
    await harness.writeDraft('done', 'once more');
    expect((await harness.collectValid()).files).toMatchObject([
      { path: 'done', base_sha256: digest('changed since') },
      { path: 'next', base_sha256: null },
    ]);
  });
});

describe('a git worktree for a grant', () => {
  const WORK = `.ai-workspace/agents/alpha/worktrees/${FEATURE}__code_unit_tests-gen1`;

  async function openRepository() {
    const harness = await DraftsHarness.open();
    const git = (...args: string[]) => gitIn(harness.root, ...args);
    git('init', '--quiet', '--initial-branch=main');
    await harness.writeShared('.gitignore', '.ai-workspace/\nignored\n');
    await harness.writeShared('src/a.ts', 'old');
    await harness.writeShared('src/same.ts', 'same');
    git('add', '.');
    git('commit', '--quiet', '-m', 'start');
    await writeFile(harness.workspacePath('coordination.yml'), 'isolation: worktree\n');
    const workPath = (path: string) => join(harness.root, WORK, path);
    return { harness, git, workPath };
  }
  const collect = (harness: DraftsHarness) => collectDrafts(harness, harness, GRANT);

  test('gives its changed and new files, each with its base', async () => {
    const { harness, git, workPath } = await openRepository();
    expect(await createGrantFolders(harness, GRANT)).toMatchObject({
      kind: 'worktree',
      work: WORK,
      branch: `gen/${FEATURE}/code_unit_tests/1`,
    });
    await write(workPath('src/a.ts'), 'new');
    await write(workPath('src/größe 日本.ts'), 'new');
    await write(workPath('bin/run'), 'run', 0o755);
    await write(workPath('ignored'), 'x');
    execFileSync('git', ['-C', workPath(''), 'add', 'bin/run']);
    const manifest = await collect(harness);
    if (isDraftRefusal(manifest)) throw new Error(manifest.says);
    expect(manifest.files).toMatchObject([
      { path: 'bin/run', executable: true, base_sha256: null },
      { path: 'src/a.ts', sha256: digest('new'), base_sha256: digest('old') },
      { path: 'src/größe 日本.ts', base_sha256: null },
    ]);
    // Commits on the agent's branch are part of the result too, and requesting the same grant again changes
    // nothing.
    execFileSync('git', [
      '-C',
      workPath(''),
      '-c',
      'user.name=a',
      '-c',
      'user.email=a@b',
      'commit',
      '-qam',
      'x',
    ]);
    await createGrantFolders(harness, GRANT);
    expect(await collect(harness)).toEqual(manifest);
    await promote(harness, harness, { ...GRANT, position: 1, manifest, human_approved: false });
    expect(await harness.readShared('src/a.ts')).toBe('new');
    expect(await collect(harness)).toEqual(manifest);
    expect(await removeGrantFolders(harness, GRANT)).toBeNull();
    expect(git('worktree', 'list').split('\n')).toHaveLength(1);
    expect(git('branch', '--list', 'gen/*')).toBe('');
    expect(await readdir(harness.workspacePath('agents/alpha/worktrees'))).toEqual([]);
    expect(await removeGrantFolders(harness, GRANT)).toBeNull();
  });

  test('is found under the name that an earlier version gave it', async () => {
    const { harness, git } = await openRepository();
    const earlier = WORK.replace(FEATURE, EARLIER_FEATURE);
    git('worktree', 'add', '--quiet', '-b', `gen/${EARLIER_FEATURE}/code_unit_tests/1`, earlier);
    await write(
      join(harness.root, `${earlier}.base.json`),
      JSON.stringify({ base_commit: git('rev-parse', 'HEAD') }),
    );
    await write(join(harness.root, earlier, 'src/a.ts'), 'new');
    expect(await createGrantFolders(harness, GRANT)).toMatchObject({ work: earlier });
    expect(await collect(harness)).toMatchObject({ files: [{ path: 'src/a.ts' }] });
    expect(await removeGrantFolders(harness, GRANT)).toBeNull();
    expect(git('worktree', 'list').split('\n')).toHaveLength(1);
    expect(await createGrantFolders(harness, GRANT)).toMatchObject({ work: WORK });
  });

  test('is created again with its commits after its folder was lost', async () => {
    const { harness, workPath } = await openRepository();
    await createGrantFolders(harness, GRANT);
    await write(workPath('src/a.ts'), 'new');
    execFileSync('git', [
      '-C',
      workPath(''),
      '-c',
      'user.name=a',
      '-c',
      'user.email=a@b',
      'commit',
      '-qam',
      'x',
    ]);
    await rm(workPath(''), { recursive: true });
    expect(await collect(harness)).toMatchObject({ refused: 'NO_WORKTREE' });
    await createGrantFolders(harness, GRANT);
    expect(await collect(harness)).toMatchObject({ files: [{ path: 'src/a.ts' }] });
  });

  test('compares files as they are on disk when git stores them with other line endings', async () => {
    const { harness, git, workPath } = await openRepository();
    await harness.writeShared('.gitattributes', '*.txt eol=crlf\n');
    await harness.writeShared('a b.txt', 'one\r\n');
    git('add', '.');
    git('commit', '--quiet', '-m', 'line ends');
    await createGrantFolders(harness, GRANT);
    expect(await collect(harness)).toMatchObject({ refused: 'NO_DRAFTS' });
    await write(workPath('a b.txt'), 'two\r\n');
    expect(await collect(harness)).toMatchObject({
      files: [{ path: 'a b.txt', sha256: digest('two\r\n'), base_sha256: digest('one\r\n') }],
    });
  });

  test('refuses what drafts refuse, and also deleted files', async () => {
    const { harness, workPath } = await openRepository();
    await createGrantFolders(harness, GRANT);
    expect(await collect(harness)).toMatchObject({ refused: 'NO_DRAFTS' });
    await symlink('/etc/passwd', workPath('src/link.ts'));
    expect(await collect(harness)).toMatchObject({ refused: 'SYMLINK', path: 'src/link.ts' });
    await rm(workPath('src/link.ts'));
    await write(workPath('src/a.ts'), 'new');
    await harness.writeShared('src/a.ts', 'by hand');
    expect(await collect(harness)).toMatchObject({ refused: 'BASE_CHANGED', path: 'src/a.ts' });
    await rm(workPath('src/same.ts'));
    expect(await collect(harness)).toMatchObject({ refused: 'DELETION', path: 'src/same.ts' });
  });

  test('runs no program of the agent: no hook, no fsmonitor, no configuration of another repository', async () => {
    const { harness, git, workPath } = await openRepository();
    const ran = join(harness.root, 'ran');
    const script = `#!/bin/sh\ntouch ${ran}\n`;
    await write(join(harness.root, '.git/hooks/post-checkout'), script, 0o755);
    await write(join(harness.root, 'evil.sh'), script, 0o755);
    git('config', 'core.fsmonitor', join(harness.root, 'evil.sh'));
    git('config', 'diff.external', join(harness.root, 'evil.sh'));
    await createGrantFolders(harness, GRANT);
    expect(await harness.readShared('ran')).toBeNull();
    await write(workPath('src/a.ts'), 'new');
    git('clone', '--quiet', '--bare', '.', 'evil.git');
    execFileSync('git', [
      '-C',
      join(harness.root, 'evil.git'),
      'config',
      'filter.x.clean',
      join(harness.root, 'evil.sh'),
    ]);
    await writeFile(workPath('.gitattributes'), '* filter=x\n');
    await writeFile(workPath('.git'), `gitdir: ${join(harness.root, 'evil.git')}\n`);
    await rm(ran, { force: true });
    expect(await collect(harness)).toMatchObject({
      files: [{ path: '.gitattributes' }, { path: 'src/a.ts' }],
    });
    expect(await harness.readShared('ran')).toBeNull();
  });

  test('refuses files in a submodule or in a nested repository, which its removal would lose', async () => {
    const { harness, git, workPath } = await openRepository();
    git('init', '--quiet', 'lib');
    git('-C', 'lib', 'commit', '--quiet', '--allow-empty', '-m', 'lib');
    git('add', 'lib');
    git('commit', '--quiet', '-m', 'a submodule');
    await createGrantFolders(harness, GRANT);
    expect(await collect(harness)).toMatchObject({ refused: 'NO_DRAFTS' });
    await write(workPath('lib/new.ts'), 'mine');
    expect(await collect(harness)).toMatchObject({ refused: 'NOT_A_FILE', path: 'lib' });
    expect(await cleanUpWorktree(harness, GRANT)).toContain('lib is a submodule');
    await rm(workPath('lib'), { recursive: true });
    await symlink('/etc', workPath('lib'));
    expect(await collect(harness)).toMatchObject({ refused: 'NOT_A_FILE', path: 'lib' });
    await rm(workPath('lib'));
    git('clone', '--quiet', 'lib', workPath('nested'));
    expect(await collect(harness)).toMatchObject({ refused: 'NOT_A_FILE', path: 'nested/' });
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
      const { harness, git } = await openRepository();
      const grant = { agent_id, subject: `${feature}#code_unit_tests`, generation: 1 };
      const created = await createGrantFolders(harness, grant);
      if (isDraftRefusal(created)) throw new Error(created.says);
      expect(git('for-each-ref', '--format=%(refname:short)', 'refs/heads/gen')).toBe(created.branch);
      await write(join(harness.root, created.work, 'src/a.ts'), 'new');
      expect(await collectDrafts(harness, harness, grant)).toMatchObject({
        files: [{ path: 'src/a.ts' }],
      });
      expect(await removeGrantFolders(harness, grant)).toBeNull();
      expect(git('for-each-ref', 'refs/heads/gen')).toBe('');
      expect(git('worktree', 'list').split('\n')).toHaveLength(1);
    },
  );

  test('starts from a commit, also from a detached one, and is refused without a commit', async () => {
    const { harness, git } = await openRepository();
    git('checkout', '--quiet', '--detach');
    expect(await createGrantFolders(harness, GRANT)).toMatchObject({ kind: 'worktree' });
    await rm(join(harness.root, '.git'), { recursive: true });
    git('init', '--quiet');
    expect(await createGrantFolders(harness, { ...GRANT, generation: 2 })).toMatchObject({
      refused: 'NO_WORKTREE',
      says: expect.stringContaining('no commit to start from'),
    });
  });

  test('is kept when git cannot read its base commit or remove it, and the message of git is passed on', async () => {
    const { harness, git, workPath } = await openRepository();
    await createGrantFolders(harness, GRANT);
    git('worktree', 'lock', WORK);
    expect(await removeGrantFolders(harness, GRANT)).toMatchObject({
      refused: 'WORKTREE_FAILED',
      says: expect.stringContaining(`Git could not remove the worktree ${WORK}: fatal: `),
      next: 'Fix the cause that git names, then try again.',
    });
    expect(await cleanUpWorktree(harness, GRANT)).toContain(`${WORK} is kept: Git could not remove`);
    expect((await readdir(workPath('src'))).sort()).toEqual(['a.ts', 'same.ts']);
    const base_commit = 'f'.repeat(40);
    await writeFile(join(harness.root, `${WORK}.base.json`), JSON.stringify({ base_commit }));
    expect(await collect(harness)).toMatchObject({
      refused: 'WORKTREE_FAILED',
      says: expect.stringContaining(`Git could not read the commit ${base_commit}: `),
    });
  });

  test('kills a git process that exceeds its time limit', async () => {
    const { harness, git } = await openRepository();
    // Runs for as long as git itself does.
    git('config', 'alias.hang', '!while kill -0 $PPID; do sleep 0.1; done');
    expect(await runGit(harness.root, ['hang'], { time_max_ms: 50 })).toEqual({
      ok: false,
      message: 'git hang exceeded its time or output limit',
    });
  });

  test('is not used for a project that is not the top folder of a repository', async () => {
    const { harness } = await openRepository();
    const part = new DraftsHarness(join(harness.root, 'src'));
    await mkdir(part.workspacePath(), { recursive: true });
    await writeFile(part.workspacePath('coordination.yml'), 'isolation: worktree\n');
    expect(await createGrantFolders(part, GRANT)).toMatchObject({ kind: 'drafts' });
    const plain = await DraftsHarness.open();
    await writeFile(plain.workspacePath('coordination.yml'), 'isolation: worktree\n');
    expect(await createGrantFolders(plain, GRANT)).toMatchObject({ kind: 'drafts' });
  });
});

describe('converging an edge from its drafts', () => {
  // req: WSP-001
  test('promotes the files to the project, and keeps the drafts of a refused result', async () => {
    const harness = await CoordinatorHarness.open('file', { home: PROJECT_KEY });
    const draftsHarness = await DraftsHarness.open();
    const log = {
      store: harness.store,
      blobs: harness.blobs,
      key: PROJECT_KEY,
      coordinator: harness.coordinator,
    };
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    await alpha.claim(EDGE);
    const body = alpha.handle(EDGE);
    const request = { agent_id: 'alpha', body };
    expect(await convergeFromDrafts(draftsHarness, log, request)).toMatchObject({ refused: 'NO_DRAFTS' });
    await draftsHarness.writeDraft('src/a.ts', 'a');
    const stale = { agent_id: 'alpha', body: { ...body, generation: 7 } };
    expect(await convergeFromDrafts(draftsHarness, log, stale)).toMatchObject({
      reply: { accepted: false, reason: 'FUTURE_GENERATION' },
      promotion: null,
    });
    expect(await draftsHarness.readShared('src/a.ts')).toBeNull();
    for (const written of [['src/a.ts'], []]) {
      // The second iteration repeats the accepted submission, as if its first reply had been lost.
      expect(await convergeFromDrafts(draftsHarness, log, request)).toMatchObject({
        reply: { accepted: true, reason: 'ACCEPTED' },
        promotion: { written, conflicts: [] },
      });
      expect(await draftsHarness.readShared('src/a.ts')).toBe('a');
    }
  });
});
