import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { unwrap } from '../../test/support/coordinator-harness.js';
import { FrozenTime } from '../../test/support/frozen-time.js';
import { git } from '../../test/support/git.js';
import {
  callTool,
  mcpClient,
  REVISIONS,
  type Revision,
  runForgetfulAgent,
} from '../../test/support/mcp-client.js';
import type { RunningServer } from '../server/server.js';
import { startHarness } from './testing/cli-harness.js';
import { runGen } from './testing/terminal.js';
import { createProject, FEATURE_ID, writeProjectFile } from './testing/workspace.js';

const PROJECT = { tenant_id: 'default', project_id: 'shop' };

/** The older revision of the protocol. For the newer revision the client starts the server twice. */
const OLDER_REVISION = REVISIONS[1];

const ARGS = [join(inject('built'), 'dist/cli/main.js'), 'mcp'];

/** A real server with a plan, and the settings to start `gen mcp` for it. */
async function openFleet(env: Record<string, string> = {}) {
  const { terminal, server } = await startHarness();
  await runGen(terminal, 'plan', 'import', 'plan.yaml');
  const started = {
    env: { PATH: process.env.PATH ?? '', ...terminal.env, GENESIS_PROJECT: 'shop', ...env },
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
  };
  return { server, started };
}

/** Starts `gen mcp` in its own process through the official client. */
async function startMcpClient(revision: Revision, env: Record<string, string> = {}) {
  const { server, started } = await openFleet(env);
  const transport = new StdioClientTransport({ command: process.execPath, args: ARGS, ...started });
  const client = await mcpClient(transport, revision);
  return { server, client, pid: transport.pid as number };
}

async function waitForExit(pid: number): Promise<void> {
  try {
    for (;;) {
      process.kill(pid, 0);
      await pause(20);
    }
  } catch {}
}

/** Resolves when an event of that type has occurred `times` times. */
async function waitForEvent({ coordinator }: RunningServer, type: string, times = 1): Promise<void> {
  const followController = new AbortController();
  let count = 0;
  for await (const { event } of coordinator.feed.follow(PROJECT, '', followController.signal)) {
    if (event.event_type === type) count += 1;
    if (count === times) followController.abort();
  }
}

test.each(REVISIONS)('completes a whole plan over stdio in revision %s', async (revision) => {
  const { server, client } = await startMcpClient(revision, { GENESIS_SESSION: 's1' });
  expect(client.getNegotiatedProtocolVersion()).toBe(revision);
  expect((await client.listTools()).tools).toHaveLength(8);
  const replies = await runForgetfulAgent(client);
  expect(replies.filter(({ reason }) => reason === 'ACCEPTED')).toHaveLength(5);
  expect(replies.at(-1)).toMatchObject({ reason: 'NOTHING_READY', agent_id: 'agent-a', session_id: 's1' });
  expect(await callTool(client, 'status')).toMatchObject({ done: true, total: { completed: 5 } });
  expect(await callTool(client, 'status', { task_id: 'no such' })).toMatchObject({ is_error: true });
  const { agents } = unwrap(await server.coordinator.queries.agents(PROJECT));
  expect(agents.map(({ agent_id }) => agent_id)).toEqual(['agent-a']);
});

test.each(REVISIONS)(
  'names the agent after its client, with one name for the whole process, over %s',
  async (revision) => {
    const { client } = await startMcpClient(revision, { GENESIS_AGENT: '' });
    const first = await callTool(client, 'next');
    expect(first.agent_id).toMatch(/^a-test-[0-9a-f]{4}$/);
    const second = await callTool(client, 'next');
    expect(second.agent_id).toBe(first.agent_id);
    expect(await callTool(client, 'next', { agent_id: 'ada', resume: false })).toMatchObject({
      agent_id: 'ada',
    });
  },
);

test('acts in the agent role of its key, and is refused another role', async () => {
  const { server, started } = await openFleet();
  const scope = { tenant_id: 'default', platform: true };
  const create = async (body: object) => unwrap(await server.coordinator.keys.create(scope, body));
  await create({ role: 'admin' });
  const { token } = await create({ role: 'agent', agent_role: 'developer' });
  const env = { ...started.env, GENESIS_TOKEN: String(token) };
  const transport = new StdioClientTransport({ command: process.execPath, args: ARGS, ...started, env });
  const client = await mcpClient(transport, OLDER_REVISION);
  for (const tool of ['next', 'claim']) {
    const target = tool === 'claim' ? { task_id: 'A-001-schema' } : {};
    const refused = await callTool(client, tool, { ...target, agent_role: 'human-reviewer' });
    expect(refused).toMatchObject({ is_error: true });
    expect(JSON.stringify(refused)).toMatch(/developer.*human-reviewer/);
  }
  expect(await callTool(client, 'next')).toMatchObject({ reason: 'GRANTED' });
  const { agents } = unwrap(await server.coordinator.queries.agents(PROJECT));
  expect(agents).toMatchObject([{ role: 'developer' }]);
});

test('renews a claim only while the client runs', async () => {
  const time = FrozenTime.begin();
  const { server, client, pid } = await startMcpClient(OLDER_REVISION);
  const { handle } = await callTool(client, 'next', { lease_duration_seconds: 1 });
  for (const renewals of [1, 2, 3, 4]) {
    await waitForEvent(server, 'LEASE_RENEWED', renewals);
    // The server's clock advances only after a renewal, so no renewal is late, even on a slow machine.
    time.advance(0.5);
  }
  expect(await callTool(client, 'renew', { handle })).toMatchObject({ success: true });
  await client.close();
  await waitForExit(pid);
  const other = { agent_id: 'beta', session_id: 's2' };
  expect(unwrap(await server.coordinator.claims.next(PROJECT, other)).claim).toBeNull();
  time.advance(1);
  const taken = unwrap(await server.coordinator.claims.next(PROJECT, other));
  expect(taken.claim).toMatchObject({ task_id: 'A-001-schema', generation: 2 });
});

test('exits when standard input ends, even with a live claim', async () => {
  FrozenTime.begin();
  const { server, started } = await openFleet();
  const child = spawn(process.execPath, ARGS, { ...started, stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const ended = once(child, 'exit');
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const clientInfo = { name: 'a test', version: '1' };
  const params = { protocolVersion: OLDER_REVISION, capabilities: {}, clientInfo };
  send({ id: 1, method: 'initialize', params });
  send({ method: 'notifications/initialized' });
  const lease = { lease_duration_seconds: 1 };
  send({ id: 2, method: 'tools/call', params: { name: 'next', arguments: lease } });
  await waitForEvent(server, 'LEASE_RENEWED');
  child.stdin.end();
  expect(await ended).toEqual([0, null]);
});

test('does not renew a released claim', async () => {
  FrozenTime.begin();
  const { server, client } = await startMcpClient(OLDER_REVISION);
  const renewing = vi.spyOn(server.coordinator.holder, 'renewLease');
  const first = await callTool(client, 'next', { lease_duration_seconds: 1 });
  await callTool(client, 'release', { handle: first.handle });
  const second = await callTool(client, 'claim', { task_id: 'A-001-schema', lease_duration_seconds: 1 });
  await waitForEvent(server, 'LEASE_RENEWED', 3);
  const { generation } = second.handle as { generation: number };
  const renewedGenerations = renewing.mock.calls.map(
    ([, body]) => (body as { expected_generation: number }).expected_generation,
  );
  expect(new Set(renewedGenerations)).toEqual(new Set([generation]));
});

test('reports an unreachable server to the model as a tool error', async () => {
  const { server, client } = await startMcpClient(OLDER_REVISION);
  await server.stop();
  expect(await callTool(client, 'status')).toMatchObject({ is_error: true, code: 'UNREACHABLE' });
});

const EDGE = `${FEATURE_ID}#intent_requirements`;
const WITH_CHECK = {
  '.ai-workspace/graph/edges/intent_requirements.yml':
    'edge: intent_requirements\nchecklist: [{name: reads_well, type: agent, criterion: Readable, required: true}]\n',
};
const PASSED = [{ name: 'reads_well', result: 'pass' }];

/** `gen mcp` in a workspace, which it serves itself. */
async function startInWorkspace(files: Record<string, string> = {}, folder = '.') {
  const { cwd: root } = await createProject({ ...WITH_CHECK, ...files });
  const env = { PATH: process.env.PATH ?? '', GENESIS_HOME: join(root, '.home') };
  const cwd = join(root, folder);
  const transport = new StdioClientTransport({ command: process.execPath, args: ARGS, cwd, env });
  return { root, client: await mcpClient(transport, OLDER_REVISION) };
}

// req: WSP-002, WSP-009
test('an edge’s files go from the draft folder of its briefing through submit into the project', async () => {
  const { root, client } = await startInWorkspace({}, 'specification');
  const granted = await callTool(client, 'claim', { task_id: EDGE, agent_role: 'architect' });
  const { draft_folder } = granted.briefing as { draft_folder: string };
  expect(draft_folder).toMatch(/^\.ai-workspace\/agents\/a-test-[0-9a-f]{4}\/drafts\//);
  expect(granted.next).toContain('submit with drafts: true');
  await writeProjectFile(root, `${draft_folder}/docs/login.md`, 'People log in.\n');
  const again = await callTool(client, 'next', { agent_role: 'architect' });
  expect(again).toMatchObject({ resumed: true, handle: granted.handle, briefing: { draft_folder } });
  const { handle } = again;
  const failed = await callTool(client, 'submit', { handle, drafts: true });
  expect(failed).toMatchObject({
    reason: 'NOT_CONVERGED',
    failing: [{ name: 'reads_well' }],
    handle,
    next: expect.stringContaining('submit again'),
  });
  const done = await callTool(client, 'submit', { handle, drafts: true, evaluators: PASSED });
  expect(done).toMatchObject({ accepted: true });
  expect(await callTool(client, 'result', { task_id: EDGE })).toMatchObject({
    result_data: { kind: 'files', files: [{ path: 'docs/login.md', base_sha256: null }] },
  });
  await client.close();
  expect(await readFile(join(root, 'docs/login.md'), 'utf8')).toBe('People log in.\n');
});

test('removes the worktree of an edge after its drafts are accepted', async () => {
  const { root, client } = await startInWorkspace({
    '.ai-workspace/coordination.yml': 'project: {name: shop, project_id: shop}\nisolation: worktree\n',
  });
  git(root, 'init', '--quiet');
  git(root, 'add', 'specification');
  git(root, 'commit', '--quiet', '-m', 'begin');
  const { handle, briefing } = await callTool(client, 'next', { agent_role: 'architect' });
  const { draft_folder } = briefing as { draft_folder: string };
  expect(git(root, 'worktree', 'list')).toContain(draft_folder);
  await writeProjectFile(root, `${draft_folder}/docs/login.md`, 'People log in.\n');
  const done = await callTool(client, 'submit', { handle, drafts: true, evaluators: PASSED });
  expect(done).toMatchObject({ accepted: true });
  expect(git(root, 'worktree', 'list')).not.toContain(draft_folder);
});

test('refuses drafts that cannot be submitted, with the handle and the next step', async () => {
  const { root, client } = await startInWorkspace();
  const { handle, briefing } = await callTool(client, 'next', { agent_role: 'architect' });
  const { draft_folder } = briefing as { draft_folder: string };
  expect(await callTool(client, 'submit', { handle, drafts: true, evaluators: PASSED })).toEqual({
    accepted: false,
    reason: 'NO_DRAFTS',
    says: expect.stringContaining(draft_folder),
    handle,
    next: expect.stringContaining('Write the files into the drafts folder'),
  });
  await writeProjectFile(root, `${draft_folder}/a.md`, 'a');
  const both = await callTool(client, 'submit', { handle, drafts: true, result_data: 1 });
  expect(both).toMatchObject({ is_error: true, handle, next: expect.stringContaining('not both') });
  for (const neither of [{}, { drafts: false }])
    expect(await callTool(client, 'submit', { handle, ...neither })).toMatchObject({
      is_error: true,
      handle,
      next: expect.stringMatching(/No result is given\. .* or drafts: true/),
    });
  const task = { task_id: 'A-001-x', generation: 1, claim_id: 'c', session_id: 's' };
  expect(await callTool(client, 'submit', { handle: task, drafts: true })).toMatchObject({
    is_error: true,
    handle: task,
    next: expect.stringMatching(/only edges have drafts\. Call submit with result_data/),
  });
  const unknown = { ...(handle as object), generation: 7 };
  expect(await callTool(client, 'submit', { handle: unknown, drafts: true })).toMatchObject({
    is_error: true,
    next: expect.stringContaining('Call next'),
  });
});

test('does not read drafts for a handle that was never granted', async () => {
  const { root, client } = await startInWorkspace();
  const { handle, briefing } = await callTool(client, 'next', { agent_role: 'architect' });
  const { draft_folder } = briefing as { draft_folder: string };
  const forged = { ...(handle as object), session_id: 'sess-other', claim_id: 'clm_forged' };
  const submitForged = () => callTool(client, 'submit', { handle: forged, drafts: true, evaluators: PASSED });
  const refusal = { reason: 'SESSION_MISMATCH', next: expect.any(String) };
  expect(await submitForged()).toMatchObject(refusal);
  await writeProjectFile(root, `${draft_folder}/docs/login.md`, 'People log in.\n');
  expect(await submitForged()).toMatchObject(refusal);
  const done = await callTool(client, 'submit', { handle, drafts: true, evaluators: PASSED });
  expect(done).toMatchObject({ accepted: true });
});

test('lists eight tools in less than 6 KB with drafts', async () => {
  const { client } = await startInWorkspace();
  const { tools } = await client.listTools();
  expect(tools).toHaveLength(8);
  expect(tools.find(({ name }) => name === 'submit')?.inputSchema.properties).toHaveProperty('drafts');
  expect(Buffer.byteLength(JSON.stringify(tools))).toBeLessThan(6 * 1024);
});

test('takes an edge from claim to convergence in a single-agent workspace without a server', async () => {
  const { cwd } = await createProject({
    '.ai-workspace/coordination.yml':
      'project: {name: shop, project_id: shop}\ncoordination: {mode: single}\n',
    '.ai-workspace/graph/edges/intent_requirements.yml':
      'edge: intent_requirements\nchecklist: [{name: reads_well, type: agent, criterion: Readable, required: true}]\n',
  });
  const env = { PATH: process.env.PATH ?? '' };
  const transport = new StdioClientTransport({ command: process.execPath, args: ARGS, cwd, env });
  const client = await mcpClient(transport, OLDER_REVISION);
  const granted = await callTool(client, 'claim', { feature_id: FEATURE_ID, edge: 'intent_requirements' });
  expect(granted).toMatchObject({ reason: 'GRANTED', agent_id: 'primary', checks: [{ name: 'reads_well' }] });
  expect(granted).not.toHaveProperty('expires_at');
  const evaluators = [{ name: 'reads_well', result: 'pass' }];
  const done = await callTool(client, 'submit', { handle: granted.handle, result_data: 'text', evaluators });
  expect(done).toMatchObject({ accepted: true });
});
