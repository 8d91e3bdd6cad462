import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { git as gitIn } from '../../../test/support/git.js';
import { commitsWithKeys, headCommit, latestTag, tagRelease } from './git-ref.js';

async function newFolder(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'gen-git-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  return root;
}

async function newRepository() {
  const root = await newFolder();
  const git = (...args: string[]) => gitIn(root, ...args);
  git('init', '-q');
  git('config', 'user.name', 't');
  git('config', 'user.email', 't@example.org');
  const commit = (...message: string[]) =>
    git('commit', '-q', '--allow-empty', ...message.flatMap((part) => ['-m', part]));
  return { root, git, commit };
}

it('returns the current commit, or null without one', async () => {
  expect(await headCommit(await newFolder())).toBe(null);
  const { root, git, commit } = await newRepository();
  expect(await headCommit(root)).toBe(null);
  commit('first');
  expect(await headCommit(root)).toBe(git('rev-parse', 'HEAD'));
});

it('lists the commits that name requirements since the last release', async () => {
  const { root, commit } = await newRepository();
  commit('REQ-F-OLD-001: before');
  expect(await tagRelease(root, 'v1.0.0', 'one')).toBe(true);
  commit('Log in', 'Implements: REQ-F-AUTH-001.1.0.0, REQ-F-AUTH-002');
  commit('Nothing to see');
  commit('REQ-COORD-001: one holder');
  expect(await latestTag(root)).toBe('v1.0.0');
  const subjectsAndKeys = async (since: string | null) =>
    (await commitsWithKeys(root, since)).map(({ subject, keys }) => [subject, keys]);
  expect(await subjectsAndKeys('v1.0.0')).toEqual([
    ['REQ-COORD-001: one holder', ['REQ-COORD-001']],
    ['Log in', ['REQ-F-AUTH-001', 'REQ-F-AUTH-002']],
  ]);
  expect(await subjectsAndKeys(null)).toHaveLength(3);
});

it('never moves a tag and runs no hook', async () => {
  const { root, git, commit } = await newRepository();
  commit('first');
  const hook = join(root, '.git/hooks/reference-transaction');
  await writeFile(hook, `#!/bin/sh\ntouch ${join(root, 'ran')}\n`);
  await chmod(hook, 0o755);
  expect(await tagRelease(root, 'v1', 'one')).toBe(true);
  const before = git('rev-parse', 'v1');
  await rm(hook);
  commit('second');
  expect(await tagRelease(root, 'v1', 'again')).toBe(false);
  expect(git('rev-parse', 'v1')).toBe(before);
  expect(await tagRelease(root, '--delete', 'x')).toBe(false);
  expect(existsSync(join(root, 'ran'))).toBe(false);
});
