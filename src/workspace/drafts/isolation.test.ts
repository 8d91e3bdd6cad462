import { execFileSync } from 'node:child_process';
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Agent } from '../../../test/support/agent.js';
import { House, P } from '../../../test/support/house.js';
import { beginDrafts } from './begin.js';
import { collectDrafts } from './collect.js';
import { convergeFromDrafts } from './converge.js';
import { git } from './git.js';
import { endIsolation, isolate } from './isolation.js';
import { promote } from './promote.js';
import { isRefusal } from './refusal.js';
import { ALPHA, digest, EDGE, write, Yard } from './testing/yard.js';
import { tidyWorktree } from './tidy.js';

const GRANT = { ...ALPHA, generation: 1 };
const FEATURE = '%52%45%51-%46-%50%41%59-1';
const DRAFTS = `.ai-workspace/agents/alpha/drafts/${FEATURE}/code_unit_tests`;

describe('a grant has folders of its own', () => {
  test('for drafts and for scratch, made once', async () => {
    const yard = await Yard.open();
    const scratch = '.ai-workspace/agents/alpha/scratch';
    for (const _ of [1, 2]) {
      expect(await isolate(yard, GRANT)).toEqual({ kind: 'drafts', work: DRAFTS, scratch, branch: null });
    }
    expect(await readdir(join(yard.root, scratch))).toEqual([]);
    expect(yard.draftAt()).toBe(join(yard.root, DRAFTS));
  });

  test('and none elsewhere, where a link is in the way', async () => {
    const yard = await Yard.open();
    await mkdir(join(yard.root, 'elsewhere'));
    await symlink(join(yard.root, 'elsewhere'), yard.path('agents'));
    expect(await isolate(yard, GRANT)).toMatchObject({ refused: 'SYMLINK' });
    expect(await readdir(join(yard.root, 'elsewhere'))).toEqual([]);
  });

  test('in which the drafts of a grant before are kept, but for those that were promoted', async () => {
    const yard = await Yard.open();
    await yard.share('copied', 'same');
    await beginDrafts(yard, ALPHA, ['copied']);
    await yard.draft('done', 'done');
    const manifest = await yard.collected();
    await promote(yard, yard, { ...GRANT, position: 1, manifest, human_approved: false });
    await yard.draft('next', 'next');
    await isolate(yard, { ...GRANT, generation: 2 });
    expect((await readdir(yard.draftAt())).sort()).toEqual(['copied', 'next']);
    await yard.share('done', 'changed since');
    await yard.draft('done', 'once more');
    expect((await yard.collected()).files).toMatchObject([
      { path: 'done', base_sha256: digest('changed since') },
      { path: 'next', base_sha256: null },
    ]);
  });
});

describe('a git worktree for a grant', () => {
  const WORK = `.ai-workspace/agents/alpha/worktrees/${FEATURE}__code_unit_tests-gen1`;

  async function repository() {
    const yard = await Yard.open();
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=ann', '-c', 'user.email=ann@example.org', ...args], {
        cwd: yard.root,
        encoding: 'utf8',
      }).trim();
    git('init', '--quiet', '--initial-branch=main');
    await yard.share('.gitignore', '.ai-workspace/\nignored\n');
    await yard.share('src/a.ts', 'old');
    await yard.share('src/same.ts', 'same');
    git('add', '.');
    git('commit', '--quiet', '-m', 'start');
    await writeFile(yard.path('coordination.yml'), 'isolation: worktree\n');
    const at = (path: string) => join(yard.root, WORK, path);
    return { yard, git, at };
  }
  const collect = (yard: Yard) => collectDrafts(yard, yard, GRANT);

  test('gives its changed and its new files, with the base they were begun from', async () => {
    const { yard, git, at } = await repository();
    expect(await isolate(yard, GRANT)).toMatchObject({
      kind: 'worktree',
      work: WORK,
      branch: `gen/${FEATURE}/code_unit_tests/1`,
    });
    await write(at('src/a.ts'), 'new');
    await write(at('src/größe 日本.ts'), 'new');
    await write(at('bin/run'), 'run', 0o755);
    await write(at('ignored'), 'x');
    execFileSync('git', ['-C', at(''), 'add', 'bin/run']);
    const manifest = await collect(yard);
    if (isRefusal(manifest)) throw new Error(manifest.says);
    expect(manifest.files).toMatchObject([
      { path: 'bin/run', executable: true, base_sha256: null },
      { path: 'src/a.ts', sha256: digest('new'), base_sha256: digest('old') },
      { path: 'src/größe 日本.ts', base_sha256: null },
    ]);
    // What the agent commits on its branch is part of it too, and to ask for the same grant again changes nothing.
    execFileSync('git', ['-C', at(''), '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qam', 'x']);
    await isolate(yard, GRANT);
    expect(await collect(yard)).toEqual(manifest);
    await promote(yard, yard, { ...GRANT, position: 1, manifest, human_approved: false });
    expect(await yard.shared('src/a.ts')).toBe('new');
    expect(await collect(yard)).toEqual(manifest);
    expect(await endIsolation(yard, GRANT)).toBeNull();
    expect(git('worktree', 'list').split('\n')).toHaveLength(1);
    expect(git('branch', '--list', 'gen/*')).toBe('');
    expect(await readdir(yard.path('agents/alpha/worktrees'))).toEqual([]);
    expect(await endIsolation(yard, GRANT)).toBeNull();
  });

  test('a folder that was lost is there again, with what was committed', async () => {
    const { yard, at } = await repository();
    await isolate(yard, GRANT);
    await write(at('src/a.ts'), 'new');
    execFileSync('git', ['-C', at(''), '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qam', 'x']);
    await rm(at(''), { recursive: true });
    expect(await collect(yard)).toMatchObject({ refused: 'NO_WORKTREE' });
    await isolate(yard, GRANT);
    expect(await collect(yard)).toMatchObject({ files: [{ path: 'src/a.ts' }] });
  });

  test('knows a file by what is on the disk, where git keeps it with other line ends', async () => {
    const { yard, git, at } = await repository();
    await yard.share('.gitattributes', '*.txt eol=crlf\n');
    await yard.share('a b.txt', 'one\r\n');
    git('add', '.');
    git('commit', '--quiet', '-m', 'line ends');
    await isolate(yard, GRANT);
    expect(await collect(yard)).toMatchObject({ refused: 'NO_DRAFTS' });
    await write(at('a b.txt'), 'two\r\n');
    expect(await collect(yard)).toMatchObject({
      files: [{ path: 'a b.txt', sha256: digest('two\r\n'), base_sha256: digest('one\r\n') }],
    });
  });

  test('refuses what drafts refuse, and what was removed', async () => {
    const { yard, at } = await repository();
    await isolate(yard, GRANT);
    expect(await collect(yard)).toMatchObject({ refused: 'NO_DRAFTS' });
    await symlink('/etc/passwd', at('src/link.ts'));
    expect(await collect(yard)).toMatchObject({ refused: 'SYMLINK', path: 'src/link.ts' });
    await rm(at('src/link.ts'));
    await write(at('src/a.ts'), 'new');
    await yard.share('src/a.ts', 'by hand');
    expect(await collect(yard)).toMatchObject({ refused: 'BASE_CHANGED', path: 'src/a.ts' });
    await rm(at('src/same.ts'));
    expect(await collect(yard)).toMatchObject({ refused: 'DELETION', path: 'src/same.ts' });
  });

  test('runs no program of the agent’s: no hook, no monitor, no settings of a repository it points to', async () => {
    const { yard, git, at } = await repository();
    const ran = join(yard.root, 'ran');
    const script = `#!/bin/sh\ntouch ${ran}\n`;
    await write(join(yard.root, '.git/hooks/post-checkout'), script, 0o755);
    await write(join(yard.root, 'evil.sh'), script, 0o755);
    git('config', 'core.fsmonitor', join(yard.root, 'evil.sh'));
    git('config', 'diff.external', join(yard.root, 'evil.sh'));
    await isolate(yard, GRANT);
    expect(await yard.shared('ran')).toBeNull();
    await write(at('src/a.ts'), 'new');
    git('clone', '--quiet', '--bare', '.', 'evil.git');
    execFileSync('git', [
      '-C',
      join(yard.root, 'evil.git'),
      'config',
      'filter.x.clean',
      join(yard.root, 'evil.sh'),
    ]);
    await writeFile(at('.gitattributes'), '* filter=x\n');
    await writeFile(at('.git'), `gitdir: ${join(yard.root, 'evil.git')}\n`);
    await rm(ran, { force: true });
    expect(await collect(yard)).toMatchObject({ files: [{ path: '.gitattributes' }, { path: 'src/a.ts' }] });
    expect(await yard.shared('ran')).toBeNull();
  });

  test('refuses what lies in a submodule, or in a repository of its own: it would go with the worktree', async () => {
    const { yard, git, at } = await repository();
    git('init', '--quiet', 'lib');
    git('-C', 'lib', 'commit', '--quiet', '--allow-empty', '-m', 'lib');
    git('add', 'lib');
    git('commit', '--quiet', '-m', 'a submodule');
    await isolate(yard, GRANT);
    expect(await collect(yard)).toMatchObject({ refused: 'NO_DRAFTS' });
    await write(at('lib/new.ts'), 'mine');
    expect(await collect(yard)).toMatchObject({ refused: 'NOT_A_FILE', path: 'lib' });
    expect(await tidyWorktree(yard, GRANT)).toContain('lib is a submodule');
    await rm(at('lib'), { recursive: true });
    await symlink('/etc', at('lib'));
    expect(await collect(yard)).toMatchObject({ refused: 'NOT_A_FILE', path: 'lib' });
    await rm(at('lib'));
    git('clone', '--quiet', 'lib', at('nested'));
    expect(await collect(yard)).toMatchObject({ refused: 'NOT_A_FILE', path: 'nested/' });
  });

  test.each([
    ['--upload-pack=x', '--upload-pack=x'],
    ['-x', '-x'],
    ['..', '..'],
    ['a', 'x.lock'],
    ['a', '@{-1}'],
    ['a', 'HEAD'],
  ])(
    'of %s for %s is in its folder and on a branch of its own, and goes without a trace',
    async (agent_id, feature) => {
      const { yard, git } = await repository();
      const grant = { agent_id, subject: `${feature}#code_unit_tests`, generation: 1 };
      const made = await isolate(yard, grant);
      if (isRefusal(made)) throw new Error(made.says);
      expect(git('for-each-ref', '--format=%(refname:short)', 'refs/heads/gen')).toBe(made.branch);
      await write(join(yard.root, made.work, 'src/a.ts'), 'new');
      expect(await collectDrafts(yard, yard, grant)).toMatchObject({ files: [{ path: 'src/a.ts' }] });
      expect(await endIsolation(yard, grant)).toBeNull();
      expect(git('for-each-ref', 'refs/heads/gen')).toBe('');
      expect(git('worktree', 'list').split('\n')).toHaveLength(1);
    },
  );

  test('begins at a commit, also where it is no branch’s, and says so where there is none', async () => {
    const { yard, git } = await repository();
    git('checkout', '--quiet', '--detach');
    expect(await isolate(yard, GRANT)).toMatchObject({ kind: 'worktree' });
    await rm(join(yard.root, '.git'), { recursive: true });
    git('init', '--quiet');
    expect(await isolate(yard, { ...GRANT, generation: 2 })).toMatchObject({
      refused: 'NO_WORKTREE',
      says: expect.stringContaining('no commit to start from'),
    });
  });

  test('keeps nobody waiting for ever: git that does not end is ended', async () => {
    const { yard, git: set } = await repository();
    // For as long as git itself is there.
    set('config', 'alias.hang', '!while kill -0 $PPID; do sleep 0.1; done');
    expect(await git(yard.root, ['hang'], { time_max_ms: 50 })).toEqual({
      ok: false,
      says: 'git hang took too long, or said too much',
    });
  });

  test('is not for a project that is no repository, or only part of one', async () => {
    const { yard } = await repository();
    const part = new Yard(join(yard.root, 'src'));
    await mkdir(part.path(), { recursive: true });
    await writeFile(part.path('coordination.yml'), 'isolation: worktree\n');
    expect(await isolate(part, GRANT)).toMatchObject({ kind: 'drafts' });
    const plain = await Yard.open();
    await writeFile(plain.path('coordination.yml'), 'isolation: worktree\n');
    expect(await isolate(plain, GRANT)).toMatchObject({ kind: 'drafts' });
  });
});

describe('an edge converges from its drafts', () => {
  test('to files of the project; refused, its drafts stay where they are', async () => {
    const house = await House.open('file');
    const yard = await Yard.open();
    const log = { store: house.store, blobs: house.blobs, key: P, coordinator: house.coordinator };
    const alpha = new Agent(house, 'alpha', 's1');
    await alpha.claims(EDGE);
    const body = alpha.handle(EDGE);
    const asked = { agent_id: 'alpha', body };
    expect(await convergeFromDrafts(yard, log, asked)).toMatchObject({ refused: 'NO_DRAFTS' });
    await yard.draft('src/a.ts', 'a');
    const stale = { agent_id: 'alpha', body: { ...body, generation: 7 } };
    expect(await convergeFromDrafts(yard, log, stale)).toMatchObject({
      reply: { accepted: false, reason: 'FUTURE_GENERATION' },
      promotion: null,
    });
    expect(await yard.shared('src/a.ts')).toBeNull();
    for (const written of [['src/a.ts'], []]) {
      // The second time it is the repeated submission of the winner, whose first reply was lost.
      expect(await convergeFromDrafts(yard, log, asked)).toMatchObject({
        reply: { accepted: true, reason: 'ACCEPTED' },
        promotion: { written, conflicts: [] },
      });
      expect(await yard.shared('src/a.ts')).toBe('a');
    }
  });
});
