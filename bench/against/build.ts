import { execFile } from 'node:child_process';
import { cp, mkdtemp, rename, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const REPOSITORY = resolve(import.meta.dirname, '../..');
const BUILDS = join(REPOSITORY, '.bench');

/** A built version of this project. */
export interface Build {
  readonly name: string;
  /** Folder of the compiled JavaScript. */
  readonly dist: string;
}

/** Builds the working tree and keeps a copy, so that editing can go on during a long run. */
export async function buildWorkingTree(): Promise<Build> {
  return { name: 'working tree', dist: await buildIn(REPOSITORY, join(BUILDS, 'working-tree')) };
}

/** Builds a commit, once. It uses the dependencies that are installed here. */
export async function buildRef(ref: string): Promise<Build> {
  const commit = await git('rev-parse', '--verify', '--end-of-options', `${ref}^{commit}`);
  const target = join(BUILDS, commit);
  if (await exists(target)) return { name: ref, dist: join(target, 'dist') };
  const sources = await mkdtemp(join(tmpdir(), 'genesis-build-'));
  try {
    await run('sh', ['-c', 'git archive "$0" | tar -x -C "$1"', commit, sources], { cwd: REPOSITORY });
    await symlink(join(REPOSITORY, 'node_modules'), join(sources, 'node_modules'));
    return { name: ref, dist: await buildIn(sources, target) };
  } finally {
    await rm(sources, { recursive: true, force: true });
  }
}

/** Builds in a folder and copies the result, which finds its dependencies in this repository. */
async function buildIn(folder: string, target: string): Promise<string> {
  await run('npm', ['run', '--silent', 'build'], { cwd: folder });
  const unfinished = `${target}.unfinished`;
  for (const old of [unfinished, target]) await rm(old, { recursive: true, force: true });
  for (const part of ['dist', 'package.json'])
    await cp(join(folder, part), join(unfinished, part), { recursive: true });
  await rename(unfinished, target);
  return join(target, 'dist');
}

const git = async (...args: string[]): Promise<string> =>
  (await run('git', args, { cwd: REPOSITORY })).stdout.trim();

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
