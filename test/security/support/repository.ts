import { execFile } from 'node:child_process';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { type CommandResult, runGen, startCommand } from '../../../src/cli/testing/terminal.js';

const run = promisify(execFile);

/** An environment without the git configuration of the person who runs the tests. */
const ENV = {
  PATH: process.env.PATH ?? '',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.com',
};

/** A git repository in a temporary folder, new or cloned. */
export class GitRepository {
  private constructor(readonly root: string) {}

  /** A new repository with a workspace; nothing is committed yet. */
  static async create(): Promise<GitRepository> {
    const clone = new GitRepository(await newFolder());
    await clone.git('init', '--quiet', '--initial-branch=main');
    await clone.gen('init', '--name', 'shop');
    return clone;
  }

  /** Clones this repository: the clone has only what git carries. */
  async clone(): Promise<GitRepository> {
    const clone = new GitRepository(await newFolder());
    await clone.git('clone', '--quiet', this.root, '.');
    return clone;
  }

  async git(...args: string[]): Promise<string> {
    const { stdout } = await run('git', args, { cwd: this.root, env: ENV });
    return stdout;
  }

  async commit(...forced: string[]): Promise<void> {
    await this.git('add', '--all');
    for (const path of forced) await this.git('add', '--force', '--', path);
    await this.git('commit', '--quiet', '--message', 'work');
  }

  /** Runs a command line in a shell, as a person would. */
  async shell(line: string): Promise<void> {
    await run('sh', ['-c', line], { cwd: this.root, env: ENV });
  }

  gen(...argv: string[]): Promise<CommandResult> {
    return runGen({ cwd: this.root }, ...argv);
  }

  async createKey(role = 'admin'): Promise<string> {
    const result = await this.gen('key', 'create', '--role', role, '--store', `workspace:${this.root}`);
    if (result.code !== 0) throw new Error(result.err);
    return result.out.trim();
  }

  /** Runs `gen up` in this clone while `work` runs, and returns its standard error. */
  async serveWhile(work: (url: string) => Promise<void>): Promise<string> {
    const server = startCommand({ cwd: this.root }, 'up', '--port', '0', '--json');
    const text = await Promise.race([server.waitForOutput('\n'), server.ended.then(({ err }) => fail(err))]);
    try {
      await work((JSON.parse(text.split('\n')[0] ?? '') as { url: string }).url);
    } finally {
      server.stop('SIGINT');
    }
    return (await server.ended).err;
  }
}

const fail = (err: string): never => {
  throw new Error(`gen up exited: ${err}`);
};

async function newFolder(): Promise<string> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'clone-')));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  return root;
}
