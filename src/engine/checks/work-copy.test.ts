import { execFileSync } from 'node:child_process';
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import type { WorkCopy } from './check-execution.js';
import { type CopyRefusal, createWorkCopy, isCopyRefusal } from './work-copy.js';

const removals: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const remove of removals.splice(0)) await remove();
});

async function projectWith(files: Readonly<Record<string, string>>, isGit = true): Promise<string> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'copy-test-')));
  removals.push(() => rm(root, { recursive: true, force: true }));
  if (isGit) execFileSync('git', ['init', '-q', root]);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return root;
}

async function copyOf(...args: Parameters<typeof createWorkCopy>): Promise<WorkCopy> {
  const copy = await createWorkCopy(...args);
  if (isCopyRefusal(copy)) throw new Error(copy.says);
  removals.push(copy.remove);
  return copy;
}
const listFiles = async ({ folder }: WorkCopy) =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();

it('copies what git does not ignore, and binds ignored dependencies read-only', async () => {
  const root = await projectWith({
    '.gitignore': 'node_modules/\n*.log\nbuild/\n',
    'src/a.js': 'a',
    'run.sh': '#!/bin/sh',
    'x.log': 'no',
    'build/out.js': 'no',
    'node_modules/p/index.js': 'no',
    'packages/b/node_modules/q/index.js': 'no',
    'a/b/c/node_modules/r/index.js': 'too deep',
    'vendor/kept.go': 'not ignored',
    '.ai-workspace/secret.yml': 'no',
    'sub/.genesis/token': 'no',
  });
  await chmod(join(root, 'run.sh'), 0o700);
  execFileSync('git', ['-C', root, 'add', 'src']);
  const copy = await copyOf(root, []);
  expect(await listFiles(copy)).toEqual(['.gitignore', 'run.sh', 'src/a.js', 'vendor/kept.go']);
  expect(copy.read_only_mounts.map(({ target }) => target).sort()).toEqual([
    'node_modules',
    'packages/b/node_modules',
  ]);
  expect((await lstat(join(copy.folder, 'run.sh'))).mode & 0o777).toBe(0o755);
  expect((await lstat(join(copy.folder, 'src'))).mode & 0o777).toBe(0o755);
});

it('walks a folder that is not a git work tree, without dependency folders', async () => {
  const root = await projectWith(
    { 'a/b.txt': 'b', 'a/node_modules/p.js': 'p', '.genesis/state': 's' },
    false,
  );
  const copy = await copyOf(root, []);
  expect(await listFiles(copy)).toEqual(['a/b.txt']);
  expect(copy.read_only_mounts).toEqual([{ source: join(root, 'a/node_modules'), target: 'a/node_modules' }]);
});

it('runs no program that the repository configures', async () => {
  const root = await projectWith({ 'a.txt': 'a' });
  const program = join(root, 'spy.sh');
  await writeFile(program, `#!/bin/sh\ntouch ${join(root, 'ran')}\n`, { mode: 0o755 });
  execFileSync('git', ['-C', root, 'config', 'core.fsmonitor', program]);
  const copy = await copyOf(root, []);
  expect(await listFiles(copy)).toEqual(['a.txt', 'spy.sh']);
  await expect(lstat(join(root, 'ran'))).rejects.toThrow('ENOENT');
});

it('leaves out links that leave the project, files below them and linked dependency folders', async () => {
  const outside = await projectWith({ 'secret.txt': 'secret' }, false);
  const root = await projectWith({ 'in.txt': 'in', 'sub/x.txt': 'x', '.gitignore': 'node_modules\n' });
  await symlink('in.txt', join(root, 'good'));
  await symlink('../in.txt', join(root, 'sub/good'));
  await symlink('../../etc/passwd', join(root, 'sub/bad'));
  await symlink(join(outside, 'secret.txt'), join(root, 'absolute'));
  await symlink(outside, join(root, 'node_modules'));
  execFileSync('git', ['-C', root, 'add', 'sub/x.txt']);
  await mkdir(join(root, 'later'));
  await writeFile(join(root, 'later/secret.txt'), 'mine');
  execFileSync('git', ['-C', root, 'add', 'later/secret.txt']);
  await rm(join(root, 'later'), { recursive: true });
  await symlink(outside, join(root, 'later'));
  const copy = await copyOf(root, []);
  expect(await listFiles(copy)).toEqual(['.gitignore', 'good', 'in.txt', 'sub/good', 'sub/x.txt']);
  expect(copy.read_only_mounts).toEqual([]);
});

it('lays the candidate over the copy and not over the project', async () => {
  const root = await projectWith({ 'src/a.js': 'old', 'src/real.js': 'real' });
  await symlink('real.js', join(root, 'src/link.js'));
  const overlay = ['src/a.js', 'src/link.js', 'new/deep/b.js'].map((path) => ({
    path,
    bytes: Buffer.from('new'),
  }));
  const copy = await copyOf(root, overlay);
  for (const { path } of overlay) expect(await readFile(join(copy.folder, path), 'utf8')).toBe('new');
  expect(await readFile(join(copy.folder, 'src/real.js'), 'utf8')).toBe('real');
  expect(await readFile(join(root, 'src/a.js'), 'utf8')).toBe('old');
  await copy.remove();
  await expect(lstat(dirname(copy.folder))).rejects.toThrow('ENOENT');
});

it.each([
  ['../out.txt', 'BAD_PATH'],
  ['around/x.txt', 'BAD_PATH'],
  ['a.txt/x.txt', 'BAD_PATH'],
  ['folder', 'BAD_PATH'],
  ['node_modules/x.js', 'BAD_PATH'],
])('refuses the candidate file %s', async (path, refused) => {
  const root = await projectWith({
    'a.txt': 'a',
    'folder/b.txt': 'b',
    'node_modules/p/i.js': 'p',
    '.gitignore': 'node_modules',
  });
  await symlink('.', join(root, 'around'));
  const copy = await createWorkCopy(root, [{ path, bytes: Buffer.from('x') }]);
  expect((copy as CopyRefusal).refused).toBe(refused);
});

it('refuses a project with too many files or bytes', async () => {
  const root = await projectWith({ 'a.txt': 'aaaa', 'b.txt': 'bbbb' });
  for (const limits of [
    { files: 1, bytes: 100 },
    { files: 10, bytes: 7 },
  ])
    expect(((await createWorkCopy(root, [], limits)) as CopyRefusal).refused).toBe('PROJECT_TOO_LARGE');
  expect(isCopyRefusal(await createWorkCopy(root, [], { files: 2, bytes: 8 }))).toBe(false);
});
