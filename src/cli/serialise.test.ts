import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, inject, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { runGen } from './testing/terminal.js';

const MAIN = join(inject('built'), 'dist/cli/main.js');
const CLAIM = { event_type: 'edge_claim', feature: 'REQ-F-ONE-001', edge: 'design→code' };

async function workspaceFolder(coordination = ''): Promise<string> {
  const cwd = await temporaryFolder();
  await mkdir(join(cwd, '.ai-workspace', 'events', 'inbox'), { recursive: true });
  await mkdir(join(cwd, '.ai-workspace', 'features', 'active'), { recursive: true });
  await writeFile(
    join(cwd, '.ai-workspace', 'coordination.yml'),
    `project: {name: Shop, project_id: shop}\n${coordination}`,
  );
  await writeFile(
    join(cwd, '.ai-workspace', 'features', 'active', 'REQ-F-ONE-001.yml'),
    'feature: REQ-F-ONE-001\ntitle: One\ntrajectory: {}\n',
  );
  return cwd;
}

async function writeInboxCommand(cwd: string, agentId: string, name: string, command: object): Promise<void> {
  const folder = join(cwd, '.ai-workspace', 'events', 'inbox', agentId);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `.${name}`), JSON.stringify(command));
  await rename(join(folder, `.${name}`), join(folder, name));
}

/** Resolves as soon as the outcome exists. */
async function waitForOutcome(
  cwd: string,
  agentId: string,
  name: string,
): Promise<{ ok: boolean; reply: object }> {
  for (;;) {
    const path = join(cwd, '.ai-workspace', 'events', 'outcome', agentId, name);
    const text = await readFile(path, 'utf8').catch(() => null);
    if (text !== null) return JSON.parse(text);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function spawnGen(cwd: string, ...argv: string[]): ChildProcess {
  const child = spawn(process.execPath, [MAIN, ...argv], {
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: cwd },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return child;
}

async function firstLine(stream: ChildProcess['stdout']): Promise<string> {
  const [line] = (await once(createInterface({ input: stream as NodeJS.ReadableStream }), 'line')) as [
    string,
  ];
  return line;
}

// req: INB-002, INB-008
it('processes the inboxes, counts the outcomes, and leaves a log that passes gen verify', async () => {
  const cwd = await workspaceFolder();
  await writeInboxCommand(cwd, 'a-01', '1.json', CLAIM);
  await writeInboxCommand(cwd, 'b-01', '1.json', CLAIM);
  await writeInboxCommand(cwd, 'b-01', '2.json', { event_type: 'nonsense' });
  const reply = await runGen({ cwd: join(cwd, '.ai-workspace', 'features') }, 'serialise', '--json');
  expect(reply.err).toBe('');
  expect(JSON.parse(reply.out)).toEqual({
    commands: 2,
    outcomes: { GRANTED: 1, DENIED_ACTIVE_CLAIM: 1 },
    broken: 1,
    expired: 0,
  });
  expect((await runGen({ cwd }, 'serialise')).out).toContain('0 commands decided');
  const verified = await runGen({ cwd }, 'verify', '--json');
  expect(JSON.parse(verified.out)).toMatchObject({ ok: true, logs: [{ project_id: 'shop' }] });
});

it('explains what to do without a workspace, in single-agent mode, and with a foreign log', async () => {
  expect(await runGen({ cwd: await temporaryFolder() }, 'serialise')).toMatchObject({
    code: 1,
    err: expect.stringContaining('gen init'),
  });
  const single = await workspaceFolder('coordination: {mode: single}\n');
  expect(await runGen({ cwd: single }, 'serialise')).toMatchObject({
    code: 1,
    err: expect.stringContaining('set it to multi'),
  });
  const foreign = await workspaceFolder();
  const log = join(foreign, '.ai-workspace', 'events', 'events.jsonl');
  const line = '{"event_type":"edge_started","timestamp":"2026-02-21T00:00:00Z","feature":"F"}\n';
  await writeFile(log, line);
  expect(await runGen({ cwd: foreign }, 'serialise')).toMatchObject({
    code: 1,
    err: expect.stringContaining('gen import --foreign'),
  });
  expect(await readFile(log, 'utf8')).toBe(line);
  const renamed = await workspaceFolder();
  await runGen({ cwd: renamed }, 'serialise');
  await writeFile(join(renamed, '.ai-workspace', 'coordination.yml'), 'project: {project_id: other}\n');
  expect(await runGen({ cwd: renamed }, 'serialise')).toMatchObject({
    code: 1,
    err: expect.stringContaining('is the log of default/shop'),
  });
});

// req: INB-008, INB-009, INB-010
it('keeps running with --watch until stopped, and refuses a second process', async () => {
  const cwd = await workspaceFolder();
  const watching = spawnGen(cwd, 'serialise', '--watch', '--json');
  expect(await firstLine(watching.stderr)).toContain('Watching');
  await writeInboxCommand(cwd, 'a-01', '1.json', CLAIM);
  expect(await waitForOutcome(cwd, 'a-01', '1.json')).toMatchObject({ ok: true });
  expect(await runGen({ cwd }, 'serialise')).toMatchObject({
    code: 1,
    err: expect.stringMatching(
      new RegExp(`The process ${watching.pid} has the store .* serves the inboxes already`),
    ),
  });
  const line = firstLine(watching.stdout);
  const ended = once(watching, 'exit');
  watching.kill('SIGTERM');
  expect(JSON.parse(await line)).toMatchObject({ commands: 1, outcomes: { GRANTED: 1 } });
  expect(await ended).toEqual([0, null]);
});

it('up serves the log, the project and the inboxes of the workspace', async () => {
  const cwd = await workspaceFolder();
  const server = spawnGen(cwd, 'up', '--port', '0', '--json');
  const { url } = JSON.parse(await firstLine(server.stdout));
  await writeInboxCommand(cwd, 'a-01', '1.json', CLAIM);
  expect(await waitForOutcome(cwd, 'a-01', '1.json')).toMatchObject({ ok: true });
  const agents = await runGen({ cwd, env: { GENESIS_URL: url } }, 'agents', '--json');
  expect(JSON.parse(agents.out)).toMatchObject({
    agents: [{ agent_id: 'a-01', claims: ['REQ-F-ONE-001#design_code'], last_activity: expect.any(String) }],
  });
  expect((await runGen({ cwd }, 'serialise')).err).toContain('serves the inboxes already');
  const ended = once(server, 'exit');
  server.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  expect(await runGen({ cwd }, 'verify')).toMatchObject({
    code: 0,
    out: expect.stringContaining('default/shop'),
  });
});

it('uses the previous configuration if a file is invalid, and processes nothing without one', async () => {
  const cwd = await workspaceFolder();
  const roles = join(cwd, '.ai-workspace', 'agent_roles.yml');
  await writeInboxCommand(cwd, 'a-01', '1.json', CLAIM);
  await writeFile(roles, 'roles:\n  architect: [\n');
  const never = await runGen({ cwd }, 'serialise', '--json');
  expect(never).toMatchObject({ code: 1, err: expect.stringMatching(/agent_roles\.yml:3:1 /) });
  expect(JSON.parse(never.out)).toMatchObject({ code: 'INVALID_METHODOLOGY' });
  await rm(roles);
  expect((await runGen({ cwd }, 'serialise')).out).toContain('GRANTED  1');
  await writeInboxCommand(cwd, 'b-01', '1.json', CLAIM);
  await writeFile(roles, 'roles:\n  architect: [\n');
  const later = await runGen({ cwd }, 'serialise');
  expect(later).toMatchObject({ code: 1, out: expect.stringContaining('DENIED_ACTIVE_CLAIM  1') });
  expect(later.err).toMatch(/agent_roles\.yml:3:1 [\s\S]*previous configuration stays in effect/);
});

it('refuses a foreign log in reading commands too, and names the commands that can read it', async () => {
  const cwd = await workspaceFolder();
  const line = '{"event_type":"edge_started","timestamp":"2026-02-21T00:00:00Z","feature":"F"}\n';
  await writeFile(join(cwd, '.ai-workspace', 'events', 'events.jsonl'), line);
  for (const command of ['status', 'start']) {
    const reply = await runGen({ cwd }, command);
    expect(reply, command).toMatchObject({ code: 1, out: '' });
    expect(reply.err).toMatch(/not written by this program[\s\S]*gen import --foreign .*gen status --log /);
  }
});
