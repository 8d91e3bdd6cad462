import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { expect, inject, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { PLAN } from './testing/cli-harness.js';
import { runGen } from './testing/terminal.js';

const MAIN = join(inject('built'), 'dist/cli/main.js');

function spawnGen(cwd: string, env: Record<string, string>, ...argv: string[]): ChildProcess {
  const child = spawn(process.execPath, [MAIN, ...argv], {
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: cwd, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return child;
}

async function firstLine(child: ChildProcess): Promise<string> {
  const lines = createInterface({ input: child.stdout ?? process.stdin });
  const [line] = (await once(lines, 'line')) as [string];
  return line;
}

async function waitForEnd(child: ChildProcess): Promise<{ code: number | null; err: string }> {
  const err = text(child.stderr ?? process.stdin);
  child.stdout?.resume();
  const [code] = (await once(child, 'exit')) as [number | null];
  return { code, err: await err };
}

/** A real server on a log in a folder, with the plan imported. */
async function serveUp() {
  const cwd = await temporaryFolder();
  await writeFile(join(cwd, 'plan.yaml'), PLAN);
  const server = spawnGen(cwd, {}, 'up', '--port', '0', '--json', '--limit', 'min_lease_duration_seconds=1');
  const address = JSON.parse(await firstLine(server));
  const env = { GENESIS_URL: address.url as string, GENESIS_AGENT: 'agent-a' };
  const terminal = { cwd, env };
  expect((await runGen(terminal, 'plan', 'import', 'plan.yaml')).code).toBe(0);
  return { cwd, env, terminal, server, address };
}

it('up prints its address, locks its log, stops on a signal, and leaves a valid log', async () => {
  const { cwd, terminal, server, address } = await serveUp();
  expect(address).toMatchObject({ open: true, port: expect.any(Number), pid: server.pid });
  const second = await runGen({ cwd }, 'up', '--port', '0');
  expect(second).toMatchObject({
    code: 1,
    err: expect.stringContaining(`The process ${server.pid} has the store`),
  });
  expect(await runGen({ cwd }, 'up', '--port', String(address.port), '--store', 'memory:')).toMatchObject({
    code: 1,
    err: expect.stringContaining('--port'),
  });
  await runGen(terminal, 'next');
  const waiting = runGen(terminal, 'next', '--wait', '30', '--agent', 'agent-b');
  const ended = waitForEnd(server);
  server.kill('SIGTERM');
  expect(await ended).toMatchObject({ code: 0 });
  expect((await waiting).code).toBe(1);
  expect(await runGen({ cwd }, 'verify')).toMatchObject({
    code: 0,
    out: expect.stringContaining('default/shop'),
  });
});

it.skipIf(!('execve' in process))(
  'up restarts Node in the same process with a larger heap space for new objects',
  async () => {
    const { server, address } = await serveUp();
    expect(address.pid).toBe(server.pid);
    expect(await readFile(`/proc/${server.pid}/cmdline`, 'utf8')).toContain('--max-semi-space-size=32');
    const ended = once(server, 'exit');
    process.kill(address.pid, 'SIGKILL');
    await ended;
    await expect(fetch(address.url)).rejects.toThrow();
  },
);

it('up publishes its address to all commands of the workspace, and removes it when it stops', async () => {
  const cwd = await temporaryFolder();
  const env = { HOME: cwd };
  expect((await runGen({ cwd, env }, 'init', '--name', 'shop', '--intent', 'Sell shoes')).code).toBe(0);
  const server = spawnGen(cwd, {}, 'up', '--port', '0', '--json');
  await firstLine(server);
  const feature = ['--type', 'feature', '--id', 'REQ-F-CART-001', '--reason', 'people buy'];
  expect(await runGen({ cwd, env }, 'spawn', ...feature)).toMatchObject({ code: 0 });
  const claimed = await runGen({ cwd, env }, 'task', 'claim', 'REQ-F-CART-001#intent_requirements');
  expect(claimed).toMatchObject({ code: 0, out: expect.stringContaining('generation 1') });
  server.kill('SIGTERM');
  await once(server, 'exit');
  expect(await readdir(join(cwd, '.ai-workspace/events'))).not.toContain('server.json');
  expect((await runGen({ cwd, env }, 'agents')).out).toContain('REQ-F-CART-001#intent_requirements');
});

it('up that fails removes the folders it created, and nothing else', async () => {
  const cwd = await temporaryFolder();
  const busy = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void busy.close());
  await once(busy, 'listening');
  const port = String((busy.address() as AddressInfo).port);
  expect((await runGen({ cwd }, 'up', '--port', port)).code).toBe(1);
  expect((await runGen({ cwd }, 'up', '--port', '0', '--anchor', join(cwd, 'missing'))).code).toBe(1);
  expect((await runGen({ cwd }, 'up', '--port', '0', '--host', '0.0.0.0')).code).toBe(1);
  expect(await readdir(cwd)).toEqual([]);
  const store = `file:${cwd}/log`;
  expect((await runGen({ cwd }, 'key', 'create', '--role', 'admin', '--store', store)).code).toBe(0);
  const before = await readdir(join(cwd, 'log'));
  expect((await runGen({ cwd }, 'up', '--port', port, '--store', store)).code).toBe(1);
  expect(await readdir(join(cwd, 'log'))).toEqual(before);
});

it('gen up exits, releases its lock and does not listen if it cannot serve the workspace', async () => {
  const cwd = await temporaryFolder();
  const env = { HOME: cwd };
  expect((await runGen({ cwd, env }, 'init', '--name', 'shop', '--intent', 'Sell shoes')).code).toBe(0);
  const tooDeep = join(cwd, '.ai-workspace', ...'abcdefghij');
  await mkdir(tooDeep, { recursive: true });
  const server = spawnGen(cwd, {}, 'up', '--port', '0', '--json');
  expect(await waitForEnd(server)).toMatchObject({ code: 1, err: expect.stringContaining('is too large') });
  expect(await readdir(join(cwd, '.ai-workspace/events'))).not.toContain('server.json');
  await rm(join(cwd, '.ai-workspace', 'a'), { recursive: true });
  expect(await runGen({ cwd, env }, 'verify')).toMatchObject({ code: 0 });
  expect(await runGen({ cwd, env }, 'start')).toMatchObject({ code: 0 });
});

it('up uses the prefix of --metrics-prefix for its metrics', async () => {
  const cwd = await temporaryFolder();
  const server = spawnGen(
    cwd,
    {},
    'up',
    '--port',
    '0',
    '--store',
    'memory:',
    '--json',
    '--metrics-prefix',
    'fleet_',
  );
  const { url } = JSON.parse(await firstLine(server));
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toContain('# TYPE fleet_claims_total counter');
  expect(metrics).not.toContain('coditect_');
  expect(await runGen({ cwd }, 'up', '--metrics-prefix', '7 up')).toMatchObject({
    code: 2,
    err: expect.stringContaining('--metrics-prefix'),
  });
});

it('up refuses a trusted proxy that is not an address or a network', async () => {
  expect(
    await runGen({ cwd: await temporaryFolder() }, 'up', '--trusted-proxy', 'proxy.example'),
  ).toMatchObject({
    code: 2,
    err: expect.stringContaining('--trusted-proxy: proxy.example is not an IP address or a network'),
  });
});

it.each(['max_x=10s', 'max_x=010', 'max_x='])('up refuses the value of --limit %s', async (limit) => {
  expect(await runGen({ cwd: await temporaryFolder() }, 'up', '--limit', limit)).toMatchObject({
    code: 2,
    err: expect.stringContaining(`VALUE must be a whole number, true or false: ${limit}`),
  });
});

it('a warning of Node is sanitized: it may contain the text of a server', async () => {
  const cwd = await temporaryFolder();
  const code = `setInterval(() => process.emitWarning('\\u001b[2Jforeign'), 50).unref()`;
  const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(code)}`;
  const server = spawnGen(cwd, { NODE_OPTIONS }, 'up', '--port', '0', '--store', 'memory:');
  let errors = '';
  server.stderr?.on('data', (chunk) => {
    errors += chunk;
  });
  server.stdout?.resume();
  await expect.poll(() => errors, { timeout: 60_000 }).toContain('Warning: \\u001b[2Jforeign');
});

it('up exits on a signal although the log of its workspace is damaged, and reports the damage', async () => {
  const cwd = await temporaryFolder();
  expect((await runGen({ cwd }, 'init')).code).toBe(0);
  const log = join(cwd, '.ai-workspace/events/events.jsonl');
  // The log gets a second block, so that damage in its first block is not taken for a torn end.
  const first = spawnGen(cwd, {}, 'up', '--port', '0', '--json');
  await firstLine(first);
  first.kill('SIGTERM');
  await waitForEnd(first);
  await writeFile(log, (await readFile(log, 'utf8')).replace('"event_id":"', '"event_id":"Z'));
  const server = spawnGen(cwd, {}, 'up', '--port', '0', '--json');
  const ended = waitForEnd(server);
  await firstLine(server);
  server.kill('SIGTERM');
  expect((await ended).err).toMatch(/damage and not the result of a crash/);
});
