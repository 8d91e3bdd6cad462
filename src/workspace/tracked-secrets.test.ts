import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { findTrackedSecrets, WORKSPACE_SECRETS } from './tracked-secrets.js';

afterEach(() => vi.unstubAllEnvs());

/** A repository that tracks these files. Returns its folder `.ai-workspace/events`. */
async function repositoryWith(...paths: string[]): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'tracked-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const events = join(root, '.ai-workspace/events');
  await mkdir(events, { recursive: true });
  execFileSync('git', ['init', '--quiet'], { cwd: root });
  for (const path of paths) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), 'x');
    execFileSync('git', ['add', '--force', path], { cwd: root });
  }
  return events;
}

it.each([
  '.ai-workspace/events/store.json',
  '.ai-workspace/Events/STORE.json',
  '.AI-Workspace/events/store.json',
  '.ai-workspace/events/\u017ftore.json',
  '.ai-workspace/events/tenants/_genesis/log.jsonl',
])('finds %s, which is a secret of the store on a case-insensitive file system', async (path) => {
  const { paths, hasKeys } = await findTrackedSecrets(
    await repositoryWith(path, 'README.md'),
    WORKSPACE_SECRETS,
  );
  expect(paths).toHaveLength(1);
  expect(hasKeys).toBe(true);
});

it('finds nothing when git tracks only the log', async () => {
  const events = await repositoryWith('.ai-workspace/events/events.jsonl', 'store.json');
  expect(await findTrackedSecrets(events, WORKSPACE_SECRETS)).toEqual({ paths: [], hasKeys: false });
});

it('treats the keys as tracked when git cannot run', async () => {
  const events = await repositoryWith('README.md');
  vi.stubEnv('PATH', '/nowhere');
  expect(await findTrackedSecrets(events, WORKSPACE_SECRETS)).toEqual({ paths: [], hasKeys: true });
});
