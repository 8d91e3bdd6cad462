/**
 * Who: anyone who can fill the disk of the access log, or close or stop reading the pipe that it is written to. Each
 * request writes a line: with enough requests the disk is full.
 *
 * What they want: a server that stops with its log or waits for it, so that leases expire; or errors that leave no
 * trace.
 *
 * What stops them: no request waits for the log. Lines are buffered in memory up to a limit, beyond which they are
 * lost; lines that cannot be written are lost and counted (`log_lines_lost_total`). The log resumes once it can be
 * written again. A path that cannot be written is refused at startup. Errors are also written to standard error, with
 * or without an access log. Once keys are required, the server writes an access log by default: a file of limited size that
 * only its owner can read, or standard error where no file can be written.
 *
 * Not defended: lost lines are not kept elsewhere. Watch the counter.
 */
import { type ChildProcess, execFileSync, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, existsSync, openSync, writeSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { expect, inject, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.js';

const DIST = join(inject('built'), 'dist');

function spawnNode(cwd: string, argv: readonly string[], stderr: 'pipe' | number = 'pipe'): ChildProcess {
  const stdio: StdioOptions = ['ignore', 'pipe', stderr];
  const env = { PATH: process.env.PATH ?? '', HOME: join(cwd, 'home') };
  const child = spawn(process.execPath, argv, { cwd, env, stdio });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

const firstLine = async ({ stdout }: ChildProcess): Promise<string> => {
  const [line] = await once(createInterface({ input: stdout ?? process.stdin }), 'line');
  return line;
};

/** Starts `gen up` with this access log; null: the default. */
async function up(accessLog: string | null, stderr: 'pipe' | number = 'pipe', folder?: string) {
  const cwd = folder ?? (await temporaryFolder());
  const argv = ['up', '--port', '0', '--store', `file:${join(cwd, 'store')}`, '--json'];
  const option = accessLog === null ? [] : ['--access-log', accessLog];
  const child = spawnNode(cwd, [join(DIST, 'cli/main.js'), ...argv, ...option], stderr);
  const { url } = JSON.parse(await firstLine(child));
  const countLostLines = async (): Promise<number> => {
    const metrics = await (await fetch(`${url}/metrics`)).text();
    return Number(/^coditect_log_lines_lost_total (\d+)$/m.exec(metrics)?.[1]);
  };
  const requestHealth = async (): Promise<number> => {
    const response = await fetch(`${url}/healthz`);
    await response.arrayBuffer();
    return response.status;
  };
  const stop = async (): Promise<unknown> => {
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    return (await exit)[0];
  };
  return { cwd, child, url, countLostLines, requestHealth, stop };
}

/** Polls until the server has counted lost lines: each request writes one more. */
async function waitUntilLost(countLostLines: () => Promise<number>): Promise<void> {
  while ((await countLostLines()) === 0);
}

test.runIf(existsSync('/dev/full'))(
  'the server answers while the disk of its access log is full, counts the lost lines, and reports the full disk once',
  async () => {
    const { child, countLostLines, requestHealth, stop } = await up('/dev/full');
    const err = text(child.stderr ?? process.stdin);
    expect(await requestHealth()).toBe(200);
    await waitUntilLost(countLostLines);
    expect(await requestHealth()).toBe(200);
    expect(await stop()).toBe(0);
    expect((await err).match(/access log.*ENOSPC/g)).toHaveLength(1);
  },
);

test('the server answers after the reader of its log on standard error is gone, and counts lost lines', async () => {
  const { child, countLostLines, requestHealth, stop } = await up('-');
  expect(await requestHealth()).toBe(200);
  child.stderr?.destroy();
  await waitUntilLost(countLostLines);
  expect(await requestHealth()).toBe(200);
  expect(await stop()).toBe(0);
});

/** A named pipe without a reader. */
async function unreadPipe() {
  const path = join(await temporaryFolder(), 'pipe');
  execFileSync('mkfifo', [path]);
  const fd = openSync(path, constants.O_RDWR);
  let isOpen = true;
  const close = (): void => {
    if (isOpen) closeSync(fd);
    isOpen = false;
  };
  onTestFinished(close);
  return { path, fd, close };
}

/** Writes until the pipe is full. */
function fillPipe(path: string): void {
  const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  onTestFinished(() => closeSync(fd));
  try {
    for (;;) writeSync(fd, 'x');
  } catch (error) {
    expect(error).toMatchObject({ code: 'EAGAIN' });
  }
}

test.each([
  ['standard error', '-'],
  ['a named pipe', null],
])('the server answers, and stops, while its access log goes to %s that is full', async (_, accessLog) => {
  const pipe = await unreadPipe();
  const { child, requestHealth, stop } = await up(
    accessLog ?? pipe.path,
    accessLog === null ? 'pipe' : pipe.fd,
  );
  child.stderr?.resume();
  fillPipe(pipe.path);
  for (let request = 0; request < 5; request += 1) expect(await requestHealth()).toBe(200);
  expect(await stop()).toBe(0);
});

test('the server answers after the reader of a named pipe is gone, and counts the lost lines', async () => {
  const pipe = await unreadPipe();
  const { child, countLostLines, requestHealth, stop } = await up(pipe.path);
  child.stderr?.resume();
  pipe.close();
  await waitUntilLost(countLostLines);
  expect(await requestHealth()).toBe(200);
  expect(await stop()).toBe(0);
});

test.each([
  ['a folder', '.', 'EISDIR'],
  ['a file in a missing folder', 'missing/access.log', 'ENOENT'],
])('the server refuses to start with %s as its access log', async (_, path, code) => {
  const cwd = await temporaryFolder();
  const argv = ['up', '--port', '0', '--store', 'memory:', '--access-log', path];
  const child = spawnNode(cwd, [join(DIST, 'cli/main.js'), ...argv]);
  const err = text(child.stderr ?? process.stdin);
  const out = text(child.stdout ?? process.stdin);
  const [exitCode] = await once(child, 'exit');
  expect(await err).toMatch(new RegExp(`^--access-log ${path}: .*\\(${code}\\)\\. .*`, 'm'));
  expect([exitCode, await out]).toEqual([2, '']);
});

test('the server writes the lines of all requests before it exits', async () => {
  const { cwd, child, requestHealth, stop } = await up('access.log');
  child.stderr?.resume();
  for (let request = 0; request < 5; request += 1) await requestHealth();
  expect(await stop()).toBe(0);
  const lines = (await readFile(join(cwd, 'access.log'), 'utf8')).trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line).route)).toEqual(Array(5).fill('healthz'));
});

/** Creates an admin key; the first one ends open mode. */
async function createKey(url: string): Promise<void> {
  const response = await fetch(`${url}/api/tenants/default/keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ role: 'admin' }),
  });
  expect(response.status).toBe(201);
}

const routesIn = (text: string): unknown[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).route);

test('an open server writes no access log; with its first key it begins one that only its owner can read', async () => {
  const { cwd, child, url, requestHealth, stop } = await up(null);
  child.stderr?.resume();
  await requestHealth();
  const folder = join(cwd, '.genesis');
  expect(existsSync(folder)).toBe(false);
  await createKey(url);
  await requestHealth();
  expect(await stop()).toBe(0);
  const path = join(folder, 'access.log');
  expect(routesIn(await readFile(path, 'utf8'))).toEqual(['create_key', 'healthz']);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  execFileSync('git', ['init', '--quiet'], { cwd });
  const untracked = execFileSync('git', ['status', '--porcelain', '--untracked-files=all'], { cwd });
  expect(String(untracked)).not.toContain('access.log');

  const again = await up(null, 'pipe', cwd);
  again.child.stderr?.resume();
  await again.requestHealth();
  expect(await again.stop()).toBe(0);
  expect(routesIn(await readFile(path, 'utf8'))).toEqual(['create_key', 'healthz', 'healthz']);

  const disabled = await up('off', 'pipe', cwd);
  disabled.child.stderr?.resume();
  await disabled.requestHealth();
  expect(await disabled.stop()).toBe(0);
  expect(routesIn(await readFile(path, 'utf8'))).toHaveLength(3);
});

test('the default access log goes to standard error, with one notice, if its folder cannot be written', async () => {
  const cwd = await temporaryFolder();
  await writeFile(join(cwd, '.genesis'), 'a file, so that no folder can be here');
  const { child, url, requestHealth, stop } = await up(null, 'pipe', cwd);
  const err = text(child.stderr ?? process.stdin);
  await createKey(url);
  await requestHealth();
  expect(await stop()).toBe(0);
  const lines = (await err).split('\n');
  expect(lines.filter((line) => line.includes('The access log cannot be written'))).toHaveLength(1);
  const logged = lines.filter((line) => line.startsWith('{'));
  expect(routesIn(logged.join('\n'))).toEqual(['create_key', 'healthz']);
  expect(await readFile(join(cwd, '.genesis'), 'utf8')).toContain('a file');
});

/** A program that starts a server with a fault. */
const FAILING = `
  const { startServer } = await import(process.argv[1] + '/server/server.js');
  const { openMemoryStore } = await import(process.argv[1] + '/stores/memory/memory-store.js');
  const server = await startServer({ store: openMemoryStore(), port: 0 });
  server.coordinator.queries.status = () => Promise.reject(new Error('boom \\u009b31m'));
  console.log(server.url);
  process.on('SIGTERM', () => server.stop());
`;

test('the server logs the id of a 500 to standard error, also without an access log, with a single level', async () => {
  const child = spawnNode(await temporaryFolder(), ['--input-type=module', '-e', FAILING, DIST]);
  const err = text(child.stderr ?? process.stdin);
  const url = await firstLine(child);
  const response = await fetch(`${url}/api/tenants/acme/projects/shop/status`);
  const { detail } = (await response.json()) as { detail: string };
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  expect((await exit)[0]).toBe(0);
  expect(response.status).toBe(500);
  const [line = ''] = (await err).split('\n');
  const { error_id, level, error } = JSON.parse(line);
  expect(detail).toContain(error_id);
  expect([level, line.match(/"level"/g)?.length]).toEqual(['error', 1]);
  // Control characters must not reach a terminal.
  expect(line).not.toContain('\u009b');
  expect(error).toContain('boom \u009b31m');
});
