import { execFile, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { findProgram, findSandbox } from './sandbox.js';
import { isRunning } from './testing/running-processes.js';

const NOBODY = 65_534;
const SCRIPT = fileURLToPath(new URL('./testing/run-as-user.ts', import.meta.url));
const LOADER = pathToFileURL(createRequire(import.meta.url).resolve('tsx/esm')).href;
const isRoot = process.getuid?.() === 0;
const sandbox = await findSandbox(process.env.PATH);

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sandbox-users-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

// Only root can become another user. Without root, all other tests run as an ordinary user already.
it.skipIf(!isRoot || sandbox.kind === 'none')(
  'runs a check for an ordinary user too, with its limits',
  async () => {
    const folder = await newFolder();
    await writeFile(join(folder, 'a.txt'), 'a');
    await chmod(folder, 0o755);
    const runAs = async (line: string) => {
      const env = { PATH: process.env.PATH ?? '', HOME: '/nonexistent', TSX_DISABLE_CACHE: '1' };
      const options = { env, uid: NOBODY, gid: NOBODY, cwd: '/' };
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ['--import', LOADER, SCRIPT, line, folder],
        options,
      );
      return JSON.parse(stdout) as Record<string, unknown>;
    };
    expect(await runAs('test "$(cat a.txt)" = a')).toMatchObject({ result: 'pass' });
    const forking = await runAs('while :; do (sleep 1000 &) 2>/dev/null; done');
    expect(forking).toMatchObject({
      result: 'fail',
      says: expect.stringContaining('limit of 100 processes'),
    });
  },
  120_000,
);

it.skipIf(sandbox.kind === 'none')(
  'ends the command when the process that runs the check is killed',
  async () => {
    const seconds = `1${randomInt(1e8, 1e9)}`;
    const child = spawn(process.execPath, [
      '--import',
      LOADER,
      SCRIPT,
      `sleep ${seconds}`,
      await newFolder(),
    ]);
    onTestFinished(() => void child.kill('SIGKILL'));
    const isSleeping = () => isRunning(`sleep\0${seconds}`);
    await expect.poll(isSleeping, { timeout: 60_000 }).toBe(true);
    child.kill('SIGKILL');
    await expect.poll(isSleeping, { timeout: 60_000 }).toBe(false);
  },
  120_000,
);

it('finds no sandbox where bubblewrap is not in PATH', async () => {
  const folder = await newFolder();
  for (const name of ['sh', 'prlimit', 'setpriv']) {
    const program = findProgram(name, process.env.PATH);
    if (program !== null) await symlink(program, join(folder, name));
  }
  expect(await findSandbox(folder)).toEqual({ kind: 'none', says: expect.stringContaining('bwrap') });
  expect(await findSandbox(undefined)).toMatchObject({ kind: 'none' });
});

it('finds no sandbox where bubblewrap cannot run, and passes on its error message', async () => {
  const folder = await newFolder();
  await mkdir(join(folder, 'bin'));
  const failing = '#!/bin/sh\necho "No permissions to create a new namespace" >&2\nexit 1\n';
  await writeFile(join(folder, 'bin/bwrap'), failing, { mode: 0o755 });
  const result = await findSandbox(`${join(folder, 'bin')}:${process.env.PATH}`);
  expect(result).toEqual({ kind: 'none', says: expect.stringContaining('No permissions to create') });
});
