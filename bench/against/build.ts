import { execFile } from 'node:child_process';
import { cp, mkdir, rename, rm, stat } from 'node:fs/promises';
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
  /** Folder of the sources. */
  readonly sources: string;
}

/** Builds the working tree and keeps a copy, so that the sources can be edited during a long run. */
export async function buildWorkingTree(): Promise<Build> {
  await run('npm', ['run', '--silent', 'build'], { cwd: REPOSITORY });
  // Inside the repository, so that the copy finds its dependencies.
  const target = await newFolder(join(BUILDS, 'working-tree'));
  for (const part of ['dist', 'package.json'])
    await cp(join(REPOSITORY, part), join(target, part), { recursive: true });
  return { name: 'working tree', dist: join(target, 'dist'), sources: REPOSITORY };
}

/** Builds a Git commit with the dependencies of its lock file, or returns the earlier build of this commit. */
export async function buildRef(ref: string): Promise<Build> {
  const commit = await git('rev-parse', '--verify', '--end-of-options', `${ref}^{commit}`);
  const target = join(BUILDS, commit);
  const build = { name: ref, dist: join(target, 'dist'), sources: target };
  if (await pathExists(join(target, 'node_modules'))) return build;
  const unfinished = await newFolder(`${target}.unfinished`);
  await run('sh', ['-c', 'git archive "$0" | tar -x -C "$1"', commit, unfinished], { cwd: REPOSITORY });
  await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: unfinished });
  await run('npm', ['run', '--silent', 'build'], { cwd: unfinished });
  await rm(target, { recursive: true, force: true });
  await rename(unfinished, target);
  return build;
}

async function newFolder(path: string): Promise<string> {
  await rm(path, { recursive: true, force: true });
  await mkdir(path, { recursive: true });
  return path;
}

const git = async (...args: string[]): Promise<string> =>
  (await run('git', args, { cwd: REPOSITORY })).stdout.trim();

const pathExists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
