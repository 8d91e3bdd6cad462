import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, inject, it } from 'vitest';
import { callTool, mcpClient } from '../../test/support/mcp-client.js';
import { Genesis, isProblem } from '../client/index.js';
import { verifySignatureSync } from '../coordinator/audit/verify-signature.js';
import { SessionSignatureChecker } from '../core/audit/session-signature-checker.js';
import { startPlannedHarness } from './testing/cli-harness.js';
import { runGen } from './testing/terminal.js';

const MAIN = join(inject('built'), 'dist/cli/main.js');
/** Types of the events that a session causes with its own commands, and signs. */
const SESSION_EVENTS = new Set([
  'CLAIM_ACQUIRED',
  'LEASE_RENEWED',
  'CLAIM_RELEASED',
  'RESULT_SUBMITTED',
  'NOTE_ADDED',
]);

/** A server with keys, whose tenant requires signatures if `isRequired`, and a terminal with an agent's key. */
async function signingFleet(isRequired = true) {
  const { terminal, server } = await startPlannedHarness();
  const createKey = async (env: Record<string, string>, role: string): Promise<string> => {
    const made = await runGen({ ...terminal, env }, 'key', 'create', '--role', role, '--json');
    return JSON.parse(made.out).token;
  };
  const HOME = join(terminal.cwd, 'home');
  const env = { ...terminal.env, HOME, GENESIS_PROJECT: 'shop', PATH: process.env.PATH ?? '' };
  const adminToken = await createKey(env, 'admin');
  const admin = new Genesis({ url: server.url, token: adminToken, project: 'shop' });
  const requireSignatures = async () => {
    expect(isProblem(await admin.putLimits({ require_signatures: true }))).toBe(false);
  };
  if (isRequired) await requireSignatures();
  const token = await createKey({ ...env, GENESIS_TOKEN: adminToken }, 'agent');
  /** The types of the sessions' own events. Each has a signature, and all are valid. */
  const signedEvents = async (): Promise<string[]> => {
    const page = await admin.events({ limit: 1000 });
    if (isProblem(page)) throw new Error(page.detail);
    const checker = new SessionSignatureChecker(verifySignatureSync);
    for (const event of page.events) expect(checker.visit(event)).toBeNull();
    // A renewal that no command requested is a sign of life of the holder. It has no request id.
    const sessionEvents = page.events.filter(
      ({ event_type, request_id }) => SESSION_EVENTS.has(event_type) && request_id !== undefined,
    );
    expect([checker.checkedCount, checker.uncheckedCount]).toEqual([sessionEvents.length, 0]);
    return sessionEvents.map(({ event_type }) => event_type);
  };
  const agent = { cwd: terminal.cwd, env: { ...env, GENESIS_TOKEN: token } };
  return { agent, HOME, signedEvents, requireSignatures };
}

it('commands about a task are signed with a key that is created on first use and that only its owner can read', async () => {
  const { agent, HOME, signedEvents } = await signingFleet();
  const key = join(HOME, '.genesis', 'signing-key.pem');
  expect(await runGen(agent, 'status')).toMatchObject({ code: 0 });
  await expect(stat(key)).rejects.toMatchObject({ code: 'ENOENT' });
  expect(await runGen(agent, 'next')).toMatchObject({ code: 0, err: '' });
  const text = await readFile(key, 'utf8');
  expect((await stat(key)).mode & 0o777).toBe(0o600);
  for (const command of [
    ['renew', 'A-001-schema'],
    ['note', 'A-001-schema', 'half way'],
    ['release', 'A-001-schema'],
    ['claim', 'A-001-schema'],
    ['submit', 'A-001-schema', '--data', '{"ok":true}'],
  ])
    expect(await runGen(agent, 'task', ...command)).toMatchObject({ code: 0, err: '' });
  expect(await signedEvents()).toEqual([
    'CLAIM_ACQUIRED',
    'LEASE_RENEWED',
    'NOTE_ADDED',
    'CLAIM_RELEASED',
    'CLAIM_ACQUIRED',
    'RESULT_SUBMITTED',
  ]);
  expect(await readFile(key, 'utf8')).toBe(text);
});

it('a stored session without a key is replaced after the tenant began to require signatures', async () => {
  const { agent, requireSignatures } = await signingFleet(false);
  expect(await runGen(agent, 'next')).toMatchObject({ code: 0 });
  expect(await runGen(agent, 'task', 'release', 'A-001-schema')).toMatchObject({ code: 0 });
  await requireSignatures();
  expect(await runGen(agent, 'task', 'claim', 'A-001-schema')).toMatchObject({ code: 0 });
  expect(await runGen(agent, 'task', 'submit', 'A-001-schema', '--data', '1')).toMatchObject({ code: 0 });
});

it('a key that others can read signs nothing', async () => {
  const { agent, HOME, signedEvents } = await signingFleet();
  await mkdir(join(HOME, '.genesis'), { recursive: true });
  await writeFile(join(HOME, '.genesis', 'signing-key.pem'), 'a key', { mode: 0o644 });
  const refused = await runGen(agent, 'next');
  expect(refused.code).not.toBe(0);
  expect(refused.err).toContain('readable by other users');
  expect(await signedEvents()).toEqual([]);
});

it('a worker signs its commands, and so does a command that its program runs', async () => {
  const { agent, signedEvents } = await signingFleet();
  const note = `"${process.execPath}" "${MAIN}" task note "$GENESIS_TASK_ID" working`;
  const ran = await runGen(agent, 'run', '--', 'sh', '-c', note);
  expect(ran).toMatchObject({ code: 0 });
  expect(await signedEvents()).toEqual(['CLAIM_ACQUIRED', 'NOTE_ADDED', 'RESULT_SUBMITTED']);
});

it('the agents of a fleet sign their commands', async () => {
  const { agent, signedEvents } = await signingFleet();
  const fleet = await runGen(agent, 'fleet', '--', 'sh', '-c', 'exit 0');
  expect(fleet).toMatchObject({ code: 0 });
  const events = await signedEvents();
  expect(events.filter((type) => type === 'RESULT_SUBMITTED')).toHaveLength(5);
});

it('MCP signs the calls of a model', async () => {
  const { agent, signedEvents } = await signingFleet();
  const transport = new StdioClientTransport({ command: process.execPath, args: [MAIN, 'mcp'], ...agent });
  const client = await mcpClient(transport, '2025-11-25');
  const { handle } = await callTool(client, 'next');
  await callTool(client, 'note', { handle, text: 'half way' });
  const submitted = await callTool(client, 'submit', { handle, result_data: { made: 'something' } });
  expect(submitted.is_error).toBeUndefined();
  expect(await signedEvents()).toEqual([
    'CLAIM_ACQUIRED',
    'LEASE_RENEWED',
    'NOTE_ADDED',
    'LEASE_RENEWED',
    'RESULT_SUBMITTED',
  ]);
});

it('the hook of an agent program renews with a signature', async () => {
  const { agent, signedEvents } = await signingFleet();
  const {
    id: claim_id,
    task_id,
    generation,
    session_id,
  } = JSON.parse((await runGen(agent, 'next', '--json')).out).claim;
  const handle = { task_id, generation, claim_id, session_id };
  const tool_response = [{ type: 'text', text: JSON.stringify({ success: true, handle }) }];
  const event = { session_id: 'conversation-1', hook_event_name: 'PostToolUse', tool_response };
  const hook = spawn(process.execPath, [MAIN, 'hook', 'renew'], agent);
  hook.stdin.end(JSON.stringify(event));
  expect(await once(hook, 'exit')).toEqual([0, null]);
  expect(await signedEvents()).toEqual(['CLAIM_ACQUIRED', 'LEASE_RENEWED']);
});
