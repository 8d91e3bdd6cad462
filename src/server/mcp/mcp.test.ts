import { type Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, onTestFinished, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import {
  CoordinatorHarness,
  PROJECT_KEY,
  planOf,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import {
  callTool,
  type McpToolReply,
  mcpClient,
  REVISIONS,
  type Revision,
  runForgetfulAgent,
} from '../../../test/support/mcp-client.js';
import { createApp } from '../app.js';
import type { Authenticator } from '../auth/authenticator.js';
import { OPEN_PRINCIPAL, type Principal } from '../auth/principal.js';
import { RateLimiter } from '../auth/rate-limit.js';
import { BodyMemory } from '../body-memory.js';
import { listen } from '../listen.js';
import { ProjectFeeds } from '../project-feeds.js';
import { readinessProbe } from '../readiness.js';
import { ROUTES } from '../routes.js';
import { LASTING_CREDENTIALS } from '../testing/credentials.js';

const [A, B, C] = ['A-001-core', 'A-002-data', 'B-001-api'] as const;
const LATEST = REVISIONS[0];

interface ConnectOptions {
  readonly revision?: Revision;
  readonly token?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
}

const agentOf = (tenant_id: string, role: Principal['role'] = 'agent'): Principal => ({
  id: 'key-1',
  kind: 'key',
  tenant_id,
  role,
  name: null,
  user_id: null,
  agent_role: null,
});

/** Accepts tokens that state their own tenant and role. A caller without a token gets the principal of open mode. */
const authenticator: Authenticator = {
  isInOpenMode: true,
  authenticate(authorization) {
    if (authorization === null) return OPEN_PRINCIPAL;
    const [tenantId = '', role = ''] = authorization.replace('Bearer ', '').split(':');
    return agentOf(tenantId, role as Principal['role']);
  },
  ...LASTING_CREDENTIALS,
};

/** Server and client are real; only time is frozen. */
async function startMcpServer() {
  const harness = await CoordinatorHarness.open('memory');
  await harness.plan(planOf(A, { id: B, depends_on: [A] }, { id: C, depends_on: [B] }));
  const { coordinator, store } = harness;
  const feeds = new ProjectFeeds(coordinator.feed, store);
  const stopping = new AbortController().signal;
  const readiness = readinessProbe(store, stopping, { alarms: () => [] });
  const context = {
    coordinator,
    store,
    feeds,
    readiness,
    metrics: async () => '',
    stopping,
    bodyMemory: new BodyMemory(),
  };
  const app = createApp({
    context,
    routes: ROUTES,
    authenticator,
    rateLimiter: new RateLimiter(),
    accessLog: () => {},
    errorLog: () => {},
  });
  const listening = await listen(app, { host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    await listening.stop();
    await feeds.close();
  });
  const connect = ({ path = '/mcp/acme/shop', ...options }: ConnectOptions = {}): Promise<Client> => {
    const bearer = options.token === undefined ? {} : { authorization: `Bearer ${options.token}` };
    const transport = new StreamableHTTPClientTransport(new URL(path, `http://127.0.0.1:${listening.port}`), {
      requestInit: { headers: { ...bearer, ...options.headers } },
    });
    return mcpClient(transport, options.revision ?? LATEST);
  };
  return { harness, connect };
}

test.each(REVISIONS)('supports revision %s, and lists eight tools in less than 6 KB', async (revision) => {
  const { connect } = await startMcpServer();
  const client = await connect({ revision });
  expect(client.getNegotiatedProtocolVersion()).toBe(revision);
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual([
    'next',
    'claim',
    'renew',
    'submit',
    'release',
    'note',
    'status',
    'result',
  ]);
  const bytes = Buffer.byteLength(JSON.stringify(tools));
  expect(bytes).toBeLessThan(6 * 1024);
  expect(client.getInstructions()).toContain('handle');
});

test.each(REVISIONS)(
  'an agent that remembers only the last reply completes a plan over %s',
  async (revision) => {
    const { harness, connect } = await startMcpServer();
    const replies = await runForgetfulAgent(await connect({ revision }));
    expect(replies.map(({ reason }) => reason)).toEqual([
      ...Array(3).fill(['GRANTED', 'NOTED', 'ACCEPTED']).flat(),
      'NOTHING_READY',
    ]);
    const sessions = new Set(replies.map(({ session_id }) => session_id).filter((id) => id !== undefined));
    expect(sessions.size).toBe(1);
    for (const reply of replies) expect(Buffer.byteLength(JSON.stringify(reply))).toBeLessThan(1024);
    const status = await callTool(await connect(), 'status');
    expect(status).toMatchObject({ project_id: 'shop', done: true, total: { completed: 3 } });
    expect(await harness.coordinator.queries.getTaskState(PROJECT_KEY, C)).toMatchObject({
      phase: 'COMPLETED',
    });
  },
);

test('a refusal is a result with its code and the next step, and a malformed call is an error', async () => {
  const { connect } = await startMcpServer();
  const client = await connect();
  await callTool(client, 'claim', { task_id: A, session_id: 's1', agent_id: 'alpha' });
  expect(await callTool(client, 'claim', { task_id: A, session_id: 's2' })).toEqual({
    success: false,
    reason: 'DENIED_ACTIVE_CLAIM',
    next: expect.stringContaining('Claim another task'),
    expires_at: expect.any(String),
    current_holder: 'alpha',
    agent_id: 's2',
    stale: false,
    session_id: 's2',
  });
  expect(await callTool(client, 'status', { task_id: B })).toMatchObject({
    claimable: false,
    why: [{ rule: 'DENIED_DEPENDENCIES' }],
  });
  const handle = { task_id: A, generation: 1, claim_id: 'wrong', session_id: 's1' };
  expect(await callTool(client, 'renew', { handle })).toMatchObject({
    success: false,
    reason: 'SESSION_MISMATCH',
  });
  expect(await callTool(client, 'status', { task_id: 'no such thing' })).toMatchObject({ is_error: true });
  expect(await callTool(client, 'next', { wait_seconds: 1e9 })).toMatchObject({ is_error: true });
});

test('every part of every tool schema has exactly one type, or lists schemas with one type each', async () => {
  const { connect } = await startMcpServer();
  const { tools } = await (await connect()).listTools();
  const untyped: string[] = [];
  const walk = (schema: Record<string, unknown>, path: string): void => {
    const { type, anyOf, properties = {}, items } = schema;
    if (typeof type !== 'string' && anyOf === undefined) untyped.push(path);
    for (const [name, part] of Object.entries({ ...(anyOf as object), ...(properties as object) })) {
      walk(part as Record<string, unknown>, `${path}.${name}`);
    }
    if (items !== undefined) walk(items as Record<string, unknown>, `${path}[]`);
  };
  for (const { name, inputSchema } of tools) walk(inputSchema, name);
  expect(untyped).toEqual([]);
  const submit = tools.find(({ name }) => name === 'submit')?.inputSchema.properties;
  expect(submit?.handle).toMatchObject({ type: 'object', required: expect.arrayContaining(['claim_id']) });
});

test('a handle passed as a JSON string is accepted, and any other string is refused with advice', async () => {
  const { connect } = await startMcpServer();
  const client = await connect();
  const { handle } = await callTool(client, 'claim', { task_id: A, session_id: 's1' });
  const asText = JSON.stringify(handle);
  expect(await callTool(client, 'renew', { handle: asText })).toMatchObject({ reason: 'RENEWED' });
  const duplicateField = asText.replace('{', '{"task_id":"B-001-x",');
  for (const wrong of [A, '', 'null', '[]', asText.slice(1), duplicateField]) {
    const refused = await client.callTool({ name: 'submit', arguments: { handle: wrong, result_data: 1 } });
    expect(refused.isError).toBe(true);
    expect(refused.content).toMatchObject([
      { text: expect.stringContaining('the object "handle" of the reply') },
    ]);
  }
  expect(await callTool(client, 'submit', { handle: asText, result_data: 1 })).toMatchObject({
    reason: 'ACCEPTED',
  });
});

const FEATURE = 'REQ-F-AUTH-001';
const EDGE_FILES = {
  [`features/active/${FEATURE}.yml`]: `feature: ${FEATURE}\ntitle: People log in\nprofile: minimal\nconstraints:
  acceptance_criteria: [{id: owner_agrees, evaluator: human, description: Read, required: true}]\n`,
  'graph/edges/intent_requirements.yml': `edge: intent_requirements\nchecklist:
  - {name: reads_well, type: agent, criterion: Readable, required: true}\n`,
  'graph/edges/design_code.yml': `edge: design_code\nchecklist:
  - {name: works, type: agent, criterion: It runs, required: true}\n`,
};

test.each(REVISIONS)(
  'claims an edge, reports its checks and escalates it to a person over %s',
  async (revision) => {
    const { harness, connect } = await startMcpServer();
    await harness.coordinator.settings.configure(PROJECT_KEY, { files: EDGE_FILES });
    const client = await connect({ revision });
    const claimant = { session_id: 's1', agent_role: 'architect' };
    const granted = await callTool(client, 'claim', {
      feature_id: FEATURE,
      edge: 'intent→requirements',
      ...claimant,
    });
    const { handle } = granted;
    expect(granted).toMatchObject({
      reason: 'GRANTED',
      handle: { task_id: `${FEATURE}#intent_requirements` },
      checks: [
        { name: 'reads_well', type: 'agent', criterion: 'Readable' },
        { name: 'owner_agrees', type: 'human' },
      ],
      next: expect.stringContaining('evaluators'),
    });
    expect(await callTool(client, 'submit', { handle, result_data: 'text' })).toMatchObject({
      reason: 'NOT_CONVERGED',
      failing: [{ name: 'reads_well', says: 'It was not reported.' }],
    });
    const evaluators = [{ name: 'reads_well', result: 'pass' }];
    const submitted = { handle, result_data: 'text', evaluators, iteration: 3 };
    expect(await callTool(client, 'submit', submitted)).toMatchObject({ reason: 'ESCALATED' });
    const { reviews } = unwrap(await harness.coordinator.methodology.reviews(PROJECT_KEY));
    const { task_id, generation, candidate_sha256, iteration } = reviews[0] ?? {};
    expect(iteration).toBe(3);
    const decision = { task_id, generation, candidate_sha256, iteration, decision: 'APPROVED' };
    expect(await harness.coordinator.decisions.recordReview(PROJECT_KEY, decision)).toMatchObject({
      success: true,
    });
    expect(await callTool(client, 'submit', submitted)).toMatchObject({ accepted: true });
  },
);

test('claims an edge by its id or its fields, and refuses both or neither', async () => {
  const { harness, connect } = await startMcpServer();
  await harness.coordinator.settings.configure(PROJECT_KEY, { files: EDGE_FILES });
  const client = await connect();
  expect(await callTool(client, 'claim', { session_id: 's1' })).toMatchObject({ is_error: true });
  expect(
    await callTool(client, 'claim', { task_id: A, feature_id: FEATURE, edge: 'design_code' }),
  ).toMatchObject({
    is_error: true,
  });
  const task_id = `${FEATURE}#design_code`;
  const { handle } = await callTool(client, 'claim', { task_id, session_id: 's1', agent_role: 'architect' });
  const wrong = [{ name: 'works', result: 'splendid' }];
  await expect(callTool(client, 'submit', { handle, result_data: 1, evaluators: wrong })).rejects.toThrow();
  expect(await callTool(client, 'claim', { task_id, session_id: 's2' })).toMatchObject({
    reason: 'DENIED_ACTIVE_CLAIM',
  });
});

test('a call with a handle renews the claim', async () => {
  const { harness, connect } = await startMcpServer();
  const client = await connect();
  const granted = await callTool(client, 'next', { lease_duration_seconds: 60 });
  harness.advance(50);
  await callTool(client, 'note', { handle: granted.handle, text: 'still here' });
  harness.advance(50);
  const submitted = await callTool(client, 'submit', { handle: granted.handle, result_data: 'done' });
  expect(submitted).toMatchObject({ accepted: true });
  expect(submitted).not.toMatchObject({ late: true });
});

test('a refused submission renews the lease too', async () => {
  const { harness, connect } = await startMcpServer();
  await harness.coordinator.settings.putLimits('acme', { max_result_size_bytes: 10 });
  const client = await connect();
  const { handle } = await callTool(client, 'next', { lease_duration_seconds: 60 });
  harness.advance(50);
  const refused = await callTool(client, 'submit', { handle, result_data: 'far too large a result' });
  expect(refused).toMatchObject({ accepted: false, reason: 'RESULT_TOO_LARGE' });
  harness.advance(50);
  expect(await callTool(client, 'renew', { handle })).toMatchObject({ reason: 'RENEWED', handle });
});

test('reads the result of a generation that is on a later page of the list', async () => {
  const { harness, connect } = await startMcpServer();
  const alpha = new HarnessAgent(harness, 'alpha', 's1');
  // Together more than the 4 MiB of a page.
  const generations = 90;
  const text = 't'.repeat(50_000);
  for (let generation = 1; generation <= generations; generation += 1) {
    await alpha.claim(A);
    await alpha.submit(A, { of: generation, text });
    await harness.coordinator.decisions.operate(PROJECT_KEY, A, 'reset', {
      expected_generation: generation,
      reason: 'again',
    });
  }
  const client = await connect();
  for (const generation of [1, 50, generations])
    expect(await callTool(client, 'result', { task_id: A, generation })).toMatchObject({
      generation,
      beginning: expect.stringContaining(`{"of":${generation},`),
    });
  expect(await callTool(client, 'result', { task_id: A, generation: generations + 1 })).toMatchObject({
    code: 'NOT_FOUND',
    next: expect.stringContaining('Call status with task_id'),
  });
});

test('a refusal that keeps the claim returns its handle, and so does a call without a result', async () => {
  const { harness, connect } = await startMcpServer();
  await harness.coordinator.settings.configure(PROJECT_KEY, { files: EDGE_FILES });
  const client = await connect();
  const { tools } = await client.listTools();
  const submit = tools.find(({ name }) => name === 'submit')?.inputSchema.properties;
  expect(submit).not.toHaveProperty('drafts');
  const { handle } = await callTool(client, 'claim', {
    task_id: `${FEATURE}#design_code`,
    agent_role: 'architect',
  });
  const evaluators = [{ name: 'works', result: 'fail' }];
  expect(await callTool(client, 'submit', { handle, result_data: 1, evaluators })).toMatchObject({
    reason: 'NOT_CONVERGED',
    failing: [{ name: 'works' }],
    handle,
    next: expect.stringContaining('submit again'),
  });
  expect(await callTool(client, 'submit', { handle, evaluators })).toEqual({
    is_error: true,
    success: false,
    code: 'INVALID_REQUEST',
    next: 'No result is given. Call submit with this handle and result_data.',
    handle,
  });
});

test('releases failed work with its error message', async () => {
  const { harness, connect } = await startMcpServer();
  const client = await connect();
  const { handle } = await callTool(client, 'next');
  const released = await callTool(client, 'release', { handle, reason: 'ERROR', message: 'no compiler' });
  expect(released).toMatchObject({ success: true, reason: 'RELEASED', task_id: A });
  const { events } = (await harness.coordinator.feed.page(PROJECT_KEY, { type: 'CLAIM_RELEASED' })) as {
    events: { payload: McpToolReply }[];
  };
  expect(events[0]?.payload).toMatchObject({ message: 'no compiler' });
});

test('the project comes from the path or a header, or is the only one of the tenant', async () => {
  const { harness, connect } = await startMcpServer();
  const tenant = { 'x-genesis-tenant': 'acme' };
  expect(await callTool(await connect({ path: '/mcp', headers: tenant }), 'status')).toMatchObject({
    project_id: 'shop',
  });
  await harness.plan(planOf(A), { tenant_id: 'acme', project_id: 'other' });
  const withoutProject = await connect({ path: '/mcp', headers: tenant });
  expect(await callTool(withoutProject, 'status')).toMatchObject({ is_error: true, code: 'INVALID_REQUEST' });
  const withProject = await connect({ path: '/mcp', headers: { ...tenant, 'x-genesis-project': 'other' } });
  expect(await callTool(withProject, 'status')).toMatchObject({ project_id: 'other' });
});

test('agent and session come from the headers if the call names none', async () => {
  const { connect } = await startMcpServer();
  const client = await connect({ headers: { 'x-genesis-agent': 'alpha', 'x-genesis-session': 's1' } });
  expect(await callTool(client, 'next')).toMatchObject({ agent_id: 'alpha', handle: { session_id: 's1' } });
});

test('a key sees only its own tenant, and only the tools that its role may use', async () => {
  const { connect } = await startMcpServer();
  await expect(connect({ token: 'globex:agent', revision: '2025-11-25' })).rejects.toThrow('NOT_FOUND');
  const viewer = await connect({ token: 'acme:viewer' });
  expect((await viewer.listTools()).tools.map(({ name }) => name)).toEqual(['status', 'result']);
  const other = connect({
    token: 'globex:agent',
    path: '/mcp',
    headers: { 'x-genesis-tenant': 'acme' },
    revision: '2025-11-25',
  });
  await expect(other).rejects.toThrow('NOT_FOUND');
  const agent = await connect({ token: 'acme:agent', path: '/mcp' });
  expect(await callTool(agent, 'next')).toMatchObject({ reason: 'GRANTED' });
});

test('a server in open mode refuses requests from pages of another origin', async () => {
  const { connect } = await startMcpServer();
  await expect(
    connect({ headers: { origin: 'https://evil.example' }, revision: '2025-11-25' }),
  ).rejects.toThrow('FORBIDDEN');
});
