/**
 * Who: another user of the same machine, who can reach every loopback port, and who may be able to write to a folder
 * that is shared with the victim.
 *
 * What they want: to become operator of the victim's workspace through the port that `gen mcp`, `gen run` or `gen
 * events --follow` opens when no server runs; or to receive the victim's commands, with their tokens, on the attacker's
 * own port.
 *
 * What stops them: that listener requires a random token of 256 bits and is never open. The token is in
 * `events/server.json`, which only its owner can read, and in the environment of the programs that `gen run` starts. An
 * address file that is a link, belongs to another user or is accessible to others is rejected.
 */
import { chmod, chown, mkdir, open, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runGen, startCommand, type TerminalOptions } from '../../src/cli/testing/terminal.js';
import { createProject, FEATURE_ID, writeProjectFile } from '../../src/cli/testing/workspace.js';
import { ROUTES } from '../../src/server/routes.js';
import { openWorkspaceStore } from '../../src/workspace/store.js';
import { Workspace } from '../../src/workspace/workspace.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const EDGE = `${FEATURE_ID}#intent_requirements`;
const HAS_OWNERS = process.getuid !== undefined;
const addressFile = ({ cwd }: TerminalOptions): string => join(cwd, '.ai-workspace/events/server.json');

interface AnnouncedAddress {
  readonly url: string;
  readonly token: string;
}

async function announcedAddress(terminal: TerminalOptions): Promise<AnnouncedAddress> {
  const read = async () => JSON.parse(await readFile(addressFile(terminal), 'utf8')) as AnnouncedAddress;
  await expect.poll(read, { timeout: 60_000, interval: 50 }).toMatchObject({ pid: process.pid });
  return read();
}

/**
 * Starts a command that keeps running, and so listens for others, as an MCP client or a person who follows events does.
 */
async function startPrivateServer(terminal: TerminalOptions): Promise<AnnouncedAddress> {
  const following = startCommand(terminal, 'events', '--follow', '--since', '2020-01-01T00:00:00Z');
  // From this output on, the command handles the signal to stop.
  await following.waitForOutput(/METHODOLOGY_CHANGED/);
  onTestFinished(async () => {
    following.stop('SIGINT');
    await following.ended;
  });
  return announcedAddress(terminal);
}

const pathOf = (path: string): string =>
  path
    .replace('{tenant_id}', 'default')
    .replace('{project_id}', 'shop')
    .replace('{name}', 'index.html')
    .replace(/\{\w+\}/g, 'A-001-x');

describe('the private server that a command starts when none is running', () => {
  it('requires its token on every route that is not public', async () => {
    const terminal = await createProject({});
    const { url, token } = await startPrivateServer(terminal);
    expect(token).toMatch(/^[\w-]{43,}$/);
    const wrong = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`;
    const credentials: Record<string, string>[] = [
      {},
      { authorization: `Bearer ${wrong}` },
      { authorization: `Bearer ${token}x` },
      { authorization: `Bearer gck_live_${'0'.repeat(16)}_${'a'.repeat(43)}` },
      { authorization: 'Bearer' },
      { authorization: `Basic ${Buffer.from(`x:${token}`).toString('base64')}` },
      { cookie: `token=${token}`, 'x-genesis-tenant': 'default' },
    ];
    for (const { id, method, path, action } of ROUTES) {
      for (const headers of credentials) {
        const reply = await fetch(`${url}${pathOf(path)}?token=${token}`, {
          method,
          headers: { 'content-type': 'application/json', ...headers },
          ...(method === 'GET' ? {} : { body: '{}' }),
        });
        await reply.body?.cancel();
        // The routes of a review link have a token of their own, and accept no other.
        const isOfLink = id === 'review_link' || id === 'decide_review_link';
        if (isOfLink) expect([id, reply.status]).toEqual([id, 404]);
        else if (action === 'public') expect([id, reply.status]).toEqual([id, 200]);
        else expect([id, JSON.stringify(headers), reply.status]).toEqual([id, JSON.stringify(headers), 401]);
      }
    }
    const headers = { authorization: `Bearer ${token}` };
    const status = await fetch(`${url}/api/tenants/default/projects/shop/status`, { headers });
    expect(status.status).toBe(200);
  });

  it('serves the other commands of its user, whatever key their environment contains', async () => {
    const terminal = await createProject({});
    await startPrivateServer(terminal);
    const env = { ...terminal.env, GENESIS_TOKEN: `gck_live_${'0'.repeat(16)}_${'a'.repeat(43)}` };
    expect(await runGen({ ...terminal, env }, 'task', 'claim', EDGE)).toMatchObject({ code: 0 });
    expect(await runGen(terminal, 'task', 'release', EDGE)).toMatchObject({ code: 0 });
    const spawned = ['spawn', '--type', 'feature', '--id', 'REQ-F-B-001', '--reason', 'x'];
    expect(await runGen({ ...terminal, env }, ...spawned)).toMatchObject({ code: 0 });
  });

  it('writes no key to the log', async () => {
    const terminal = await createProject({});
    const { url, token } = await startPrivateServer(terminal);
    const headers = { authorization: `Bearer ${token}` };
    const reply = await fetch(`${url}/api/tenants/default/keys`, { headers });
    expect(await reply.json()).toMatchObject({ keys: [] });
    const files = await readdir(join(terminal.cwd, '.ai-workspace/events'), { recursive: true });
    expect(files.filter((name) => name.includes('_genesis'))).toEqual([]);
    const log = await readFile(join(terminal.cwd, '.ai-workspace/events/events.jsonl'), 'utf8');
    expect(log).not.toContain(token);
  });

  it('stays closed when keys exist, and does not accept them', async () => {
    const terminal = await createProject({});
    const { url } = await startPrivateServer(terminal);
    const { out } = await runGen(terminal, 'key', 'create', '--role', 'operator');
    const headers = { authorization: `Bearer ${out.trim()}` };
    expect((await fetch(`${url}/api/tenants/default/keys`, { headers })).status).toBe(401);
    expect(await runGen(terminal, 'task', 'claim', EDGE)).toMatchObject({ code: 0 });
  });
});

describe.runIf(HAS_OWNERS)('the address file', () => {
  const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

  it('is readable by its owner only', async () => {
    const terminal = await createProject({});
    await startPrivateServer(terminal);
    expect(await modeOf(addressFile(terminal))).toBe(0o600);
    const files = await readdir(join(terminal.cwd, '.ai-workspace/events'));
    expect(files.filter((name) => name.includes('server'))).toEqual(['server.json']);
  });

  it('is a new file, even if another process has the old one open', async () => {
    const terminal = await createProject({});
    await mkdir(join(terminal.cwd, '.ai-workspace/events'), { recursive: true });
    await writeFile(addressFile(terminal), '{"url":"http://127.0.0.1:9"}');
    await chmod(addressFile(terminal), 0o666);
    const spying = await open(addressFile(terminal), 'r+');
    onTestFinished(() => spying.close());
    const { token } = await startPrivateServer(terminal);
    expect(await modeOf(addressFile(terminal))).toBe(0o600);
    expect(await spying.readFile('utf8')).not.toContain(token);
  });

  it('is not written through a symbolic link', async () => {
    const terminal = await createProject({});
    const elsewhere = join(await temporaryFolder(), 'readable-by-all');
    await writeFile(elsewhere, '');
    await mkdir(join(terminal.cwd, '.ai-workspace/events'), { recursive: true });
    await symlink(elsewhere, addressFile(terminal));
    const { token } = await startPrivateServer(terminal);
    expect(await readFile(elsewhere, 'utf8')).not.toContain(token);
    expect(await modeOf(addressFile(terminal))).toBe(0o600);
  });
});

it('a program under gen run gets the address and the token, and needs both', async () => {
  const terminal = await createProject({
    'plan.yaml': 'project: shop\ntracks:\n  A:\n    - {id: A-001-x, description: x}\n',
  });
  expect(await runGen(terminal, 'plan', 'import', 'plan.yaml')).toMatchObject({ code: 0 });
  const script = `const { GENESIS_URL, GENESIS_TOKEN } = process.env;
    const ask = (headers) => fetch(GENESIS_URL + '/api/tenants/default/projects/shop/status', { headers });
    Promise.all([ask({}), ask({ authorization: 'Bearer ' + GENESIS_TOKEN })]).then((replies) =>
      process.stdout.write('statuses ' + replies.map(({ status }) => status).join(' ')));`;
  await writeFile(join(terminal.cwd, 'agent.cjs'), script);
  const env = { ...terminal.env, GENESIS_TOKEN: 'a-token-for-another-server' };
  const { code, out } = await runGen(
    { ...terminal, env },
    'run',
    '--kind',
    'task',
    '--',
    process.execPath,
    'agent.cjs',
  );
  expect({ code, out }).toEqual({ code: 0, out: 'statuses 401 200' });
});

/** The attacker's port: responds like a server and records the requests. */
async function startTrapServer(): Promise<{ url: string; receivedRequests: string[] }> {
  const receivedRequests: string[] = [];
  const server = createServer((request, response) => {
    receivedRequests.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`);
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, receivedRequests };
}

type Forge = (path: string, text: string) => Promise<void>;

const FORGERIES: Record<string, { forge: Forge; message: RegExp }> = {
  'that others can write to': {
    forge: async (path, text) => {
      await writeFile(path, text);
      await chmod(path, 0o666);
    },
    message: /server\.json .*mode 666/,
  },
  'that others can read': {
    forge: async (path, text) => {
      await writeFile(path, text);
      await chmod(path, 0o644);
    },
    message: /server\.json .*mode 644/,
  },
  'that is a link': {
    forge: async (path, text) => {
      await writeFile(`${path}.theirs`, text, { mode: 0o600 });
      await symlink(`${path}.theirs`, path);
    },
    message: /server\.json .*link/,
  },
  ...(process.getuid?.() === 0
    ? {
        'of another user': {
          forge: async (path: string, text: string) => {
            await writeFile(path, text, { mode: 0o600 });
            await chown(path, 65_534, 65_534);
          },
          message: /server\.json .*another user/,
        },
      }
    : {}),
};

/** A command reads the address file only while another process has the log open, so the forgery is tried then. */
async function expectRefused({ forge, message }: (typeof FORGERIES)[string]): Promise<void> {
  const terminal = await createProject({});
  const { store } = await openWorkspaceStore(new Workspace(terminal.cwd), () => {});
  const { url, receivedRequests } = await startTrapServer();
  await forge(addressFile(terminal), `${JSON.stringify({ url, pid: process.pid })}\n`);
  const env = { ...terminal.env, GENESIS_TOKEN: 'the-victims-own-token' };
  const reply = await runGen({ ...terminal, env }, 'task', 'claim', EDGE);
  expect(reply).toMatchObject({ code: 1, err: expect.stringMatching(message) });
  expect(receivedRequests).toEqual([]);
  await store.close();
}

it.runIf(HAS_OWNERS)(
  'a command sends no request to the address in a forged file, and reports what is wrong with it',
  async () => {
    await Promise.all(Object.values(FORGERIES).map(expectRefused));
  },
);

it('gen init keeps the address file out of git', async () => {
  const cwd = await temporaryFolder();
  await writeProjectFile(cwd, 'README.md', 'x');
  expect(await runGen({ cwd }, 'init', '--name', 'shop')).toMatchObject({ code: 0 });
  expect(await readFile(join(cwd, '.ai-workspace/.gitignore'), 'utf8')).toMatch(/^events\/server\.json/m);
});
