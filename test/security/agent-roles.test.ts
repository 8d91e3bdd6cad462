/**
 * A worker that passes as another role.
 *
 * Who: an agent whose credential is limited to the agent role `developer`.
 * What they want: to act, or to be recorded, as `human-reviewer` or another role with more authority.
 * What stops them: every body that names an agent role is compared with the credential's, on every transport; a key
 * that a limited key creates has the same role; and a claim of another role is not submitted.
 */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Genesis } from '../../src/client/index.js';
import { PROJECT_URL, TENANT_URL, TestServer } from '../../src/server/testing/test-server.js';
import { bearer } from '../support/bearer.js';
import { callTool, mcpClient, REVISIONS } from '../support/mcp-client.js';
import { evaluatorReport, FILES } from '../support/workspace-files.js';
import { startIssuer } from './support/issuer.js';

const EDGE = 'REQ-F-A#design_code';
const TASK = 'A-001-core';
const OTHER_ROLE = 'human-reviewer';
const IDENTITY = { agent_id: 'alpha', session_id: 's1' };
const ROLES_FILE =
  'roles:\n  architect: { converge_edges: [design_code] }\n  developer: { converge_edges: [] }\nauthority: { outside_authority_action: reject }\n';

let testServer: TestServer;
let admin: Record<string, string>;

const send = (method: string, path: string, body: unknown, headers: Record<string, string>) =>
  testServer.request(method, path, body, headers);

async function createKey(body: object, headers = admin): Promise<string> {
  const created = await send('POST', `${TENANT_URL}/keys`, body, headers);
  expect(created.status).toBe(201);
  return created.body.token;
}

async function startConfigured(options: Parameters<typeof TestServer.forTest>[0] = {}, headers = {}) {
  testServer = await TestServer.forTest(options);
  const files = { ...FILES, 'agent_roles.yml': ROLES_FILE };
  const tenant = { ...headers, 'x-genesis-tenant': 'acme' };
  const configured = await send('POST', '/api/init', { project_id: 'shop', files }, tenant);
  expect(configured.status).toBe(200);
  const tracks = { A: [{ id: TASK, description: 'work', depends_on: [] }] };
  expect((await send('PUT', `${PROJECT_URL}/plan`, { tracks }, headers)).status).toBe(200);
}

describe('a key that is limited to developer', () => {
  let developer: Record<string, string>;
  let token: string;
  beforeEach(async () => {
    await startConfigured();
    admin = bearer((await testServer.post(`${TENANT_URL}/keys`, { role: 'admin' })).body.token);
    token = await createKey({ role: 'agent', agent_role: 'developer' });
    developer = bearer(token);
  });

  const intent = {
    event_type: 'intent_raised',
    payload: { intent_id: 'INT-1', trigger: 'x', signal_source: 'gap' },
  };
  const REQUESTS: [string, string, object][] = [
    ['claim of a task', `${PROJECT_URL}/claims`, { task_id: TASK, ...IDENTITY, agent_role: OTHER_ROLE }],
    ['claim of an edge', `${PROJECT_URL}/claims`, { task_id: EDGE, ...IDENTITY, agent_role: OTHER_ROLE }],
    ['claim as human', `${PROJECT_URL}/claims`, { task_id: EDGE, ...IDENTITY, agent_role: 'human' }],
    [
      'batch of claims',
      `${PROJECT_URL}/claims/batch`,
      { claims: [{ task_id: TASK, ...IDENTITY, agent_role: OTHER_ROLE }] },
    ],
    [
      'batch of claims, the second in another role',
      `${PROJECT_URL}/claims/batch`,
      {
        claims: [
          { task_id: TASK, ...IDENTITY },
          { task_id: EDGE, ...IDENTITY, agent_role: OTHER_ROLE },
        ],
        mode: 'all_or_nothing',
      },
    ],
    ['next', `${PROJECT_URL}/next`, { ...IDENTITY, kinds: ['edge'], agent_role: OTHER_ROLE }],
    ['reported event', `${PROJECT_URL}/events`, { ...intent, ...IDENTITY, agent_role: OTHER_ROLE }],
    ['start', '/api/start', { project_id: 'shop', agent_role: OTHER_ROLE }],
  ];

  // req: ROL-007
  it.each(REQUESTS)('is refused another role in a %s, and nothing is written', async (_, path, body) => {
    const before = (await send('GET', `${PROJECT_URL}/events?limit=500`, undefined, admin)).body.events;
    const { status, body: refused } = await send('POST', path, body, developer);
    expect([status, refused.code]).toEqual([403, 'FORBIDDEN']);
    expect(refused.detail).toContain('"developer"');
    expect(refused.detail).toMatch(/"human(-reviewer)?"/);
    expect(refused.detail).toContain('omit agent_role, or use a credential of that role');
    const after = (await send('GET', `${PROJECT_URL}/events?limit=500`, undefined, admin)).body.events;
    expect(after).toEqual(before);
  });

  it('acts as developer if a body names no role, or its own, whatever its metadata says', async () => {
    const claim = { task_id: TASK, ...IDENTITY, metadata: { agent_role: OTHER_ROLE } };
    expect((await send('POST', `${PROJECT_URL}/claims`, claim, developer)).body.reason).toBe('GRANTED');
    const edge = { task_id: EDGE, ...IDENTITY, agent_role: 'developer' };
    expect((await send('POST', `${PROJECT_URL}/claims`, edge, developer)).body.reason).toBe('GRANTED');
    const reported = { ...intent, ...IDENTITY, payload: { ...intent.payload, agent_role: OTHER_ROLE } };
    await send('POST', `${PROJECT_URL}/events`, reported, developer);
    const { events } = (await send('GET', `${PROJECT_URL}/events?limit=500`, undefined, admin)).body;
    const own = events.filter(({ agent_id }: { agent_id: string }) => agent_id === 'alpha');
    expect(own.length).toBeGreaterThan(2);
    for (const { event_type, agent_role } of own)
      if (event_type !== 'SESSION_OPENED')
        expect([event_type, agent_role]).toEqual([event_type, 'developer']);
  });

  it('converges only what its role may', async () => {
    const granted = await send('POST', `${PROJECT_URL}/claims`, { task_id: EDGE, ...IDENTITY }, developer);
    const { id: claim_id, generation } = granted.body.claim;
    const result = { task_id: EDGE, session_id: 's1', claim_id, generation, result_data: 1 };
    const submitted = await send(
      'POST',
      `${PROJECT_URL}/results`,
      { ...result, ...evaluatorReport() },
      developer,
    );
    expect(submitted.body).toMatchObject({ accepted: false, reason: 'OUTSIDE_AUTHORITY' });
    const named = await send(
      'POST',
      `${PROJECT_URL}/results`,
      { ...result, agent_role: 'architect' },
      developer,
    );
    expect([named.status, named.body.code]).toEqual([400, 'INVALID_REQUEST']);
  });

  it('does not submit what another credential of its user claimed in another role', async () => {
    const user = { role: 'agent', user_id: 'dana' };
    const unlimited = bearer(await createKey(user));
    const developer = bearer(await createKey({ ...user, agent_role: 'developer' }));
    const claim = { task_id: EDGE, ...IDENTITY, agent_role: 'architect' };
    const granted = await send('POST', `${PROJECT_URL}/claims`, claim, unlimited);
    const { id: claim_id, generation } = granted.body.claim;
    const result = {
      task_id: EDGE,
      session_id: 's1',
      claim_id,
      generation,
      result_data: 1,
      ...evaluatorReport(),
    };
    const refused = await send('POST', `${PROJECT_URL}/results`, result, developer);
    expect([refused.status, refused.body.code]).toEqual([403, 'FORBIDDEN']);
    expect(refused.body.detail).toMatch(/"developer".*"architect".*release the claim/s);
    const batch = await send('POST', `${PROJECT_URL}/results/batch`, { items: [result] }, developer);
    expect(batch.body.results).toMatchObject([{ code: 'FORBIDDEN' }]);
    expect((await send('POST', `${PROJECT_URL}/results`, result, unlimited)).body).toMatchObject({
      accepted: true,
    });
  });

  it('is refused another role over MCP', async () => {
    const url = new URL('/mcp/acme/shop', testServer.url);
    const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers: developer } });
    const client = await mcpClient(transport, REVISIONS[0]);
    for (const [tool, args] of [
      ['claim', { task_id: TASK }],
      ['next', {}],
    ] as const) {
      const refused = await callTool(client, tool, { ...args, agent_role: OTHER_ROLE });
      expect(refused).toMatchObject({ is_error: true });
      expect(JSON.stringify(refused)).toMatch(/developer.*human-reviewer/);
    }
    expect(await callTool(client, 'claim', { task_id: TASK })).toMatchObject({ reason: 'GRANTED' });
  });

  it('is refused another role through the SDK, and only the call that names it', async () => {
    const genesis = new Genesis({ url: testServer.url, tenant: 'acme', project: 'shop', token });
    const [own, other] = await Promise.all([
      genesis.claimTask({ task_id: TASK, ...IDENTITY }),
      genesis.claimTask({ task_id: EDGE, ...IDENTITY, agent_role: OTHER_ROLE }),
    ]);
    expect(own).toMatchObject({ reason: 'GRANTED' });
    expect(other).toMatchObject({ code: 'FORBIDDEN', status: 403 });
  });

  it('is listed with its role, and keeps it over a restart', async () => {
    await testServer.restart();
    const { keys } = (await send('GET', `${TENANT_URL}/keys`, undefined, admin)).body;
    expect(keys.map(({ agent_role }: { agent_role: string | null }) => agent_role)).toEqual([
      null,
      'developer',
    ]);
    const claim = { task_id: TASK, ...IDENTITY, agent_role: OTHER_ROLE };
    expect((await send('POST', `${PROJECT_URL}/claims`, claim, developer)).status).toBe(403);
    const adminClaim = { ...claim, session_id: 's2' };
    expect((await send('POST', `${PROJECT_URL}/claims`, adminClaim, admin)).body.reason).toBe('GRANTED');
  });

  it('is refused with a name that is not a role', async () => {
    for (const agent_role of ['', 'two words', 'a'.repeat(65), 7, null]) {
      const refused = await send('POST', `${TENANT_URL}/keys`, { role: 'agent', agent_role }, admin);
      expect([refused.status, refused.body.code]).toEqual([400, 'INVALID_REQUEST']);
    }
  });
});

it('an admin with an agent role can create, rotate and reassign only in its own role', async () => {
  await startConfigured();
  admin = bearer((await testServer.post(`${TENANT_URL}/keys`, { role: 'admin' })).body.token);
  const developer = bearer(await createKey({ role: 'admin', agent_role: 'developer' }));
  const other = await send(
    'POST',
    `${TENANT_URL}/keys`,
    { role: 'agent', agent_role: OTHER_ROLE },
    developer,
  );
  expect([other.status, other.body.code]).toEqual([403, 'FORBIDDEN']);
  const created = await send('POST', `${TENANT_URL}/keys`, { role: 'admin' }, developer);
  expect(created.body).toMatchObject({ role: 'admin', agent_role: 'developer' });
  const renewed = bearer(created.body.token);
  const claim = { task_id: EDGE, ...IDENTITY, agent_role: 'human' };
  expect((await send('POST', `${PROJECT_URL}/claims`, claim, renewed)).status).toBe(403);
  await send('POST', `${PROJECT_URL}/claims`, { task_id: TASK, ...IDENTITY }, admin);
  const reassign = { expected_generation: 1, reason: 'x', ...IDENTITY, agent_role: OTHER_ROLE };
  const path = `${PROJECT_URL}/tasks/${TASK}/reassign`;
  expect((await send('POST', path, reassign, renewed)).status).toBe(403);
});

it('a token is limited by its claim, and a second token of the user does not submit in another role', async () => {
  const issuer = await startIssuer();
  onTestFinished(() => issuer.remove());
  const token = async (claims: object) =>
    bearer(await issuer.sign({ tenant_id: 'acme', role: 'agent', ...claims }));
  await startConfigured({ auth: { jwt: issuer.jwt } }, await token({ role: 'admin' }));
  const architect = await token({ agent_role: 'architect' });
  const developer = await token({ agent_role: 'developer' });
  const unlimited = await token({});
  const claim = { task_id: EDGE, ...IDENTITY, request_id: 'r1' };
  const named = await send('POST', `${PROJECT_URL}/claims`, { ...claim, agent_role: 'architect' }, developer);
  expect([named.status, named.body.code]).toEqual([403, 'FORBIDDEN']);
  const granted = await send('POST', `${PROJECT_URL}/claims`, claim, architect);
  expect(granted.body.reason).toBe('GRANTED');
  // The same request in another role is another request.
  expect((await send('POST', `${PROJECT_URL}/claims`, claim, developer)).body.code).toBe(
    'IDEMPOTENCY_CONFLICT',
  );
  const { id: claim_id, generation } = granted.body.claim;
  const result = {
    task_id: EDGE,
    session_id: 's1',
    claim_id,
    generation,
    result_data: 1,
    ...evaluatorReport(),
  };
  expect((await send('POST', `${PROJECT_URL}/results`, result, developer)).status).toBe(403);
  expect((await send('POST', `${PROJECT_URL}/results`, result, architect)).body).toMatchObject({
    accepted: true,
  });
  const free = { task_id: TASK, ...IDENTITY, agent_role: OTHER_ROLE };
  expect((await send('POST', `${PROJECT_URL}/claims`, free, unlimited)).body.reason).toBe('GRANTED');
});

describe('a user whose new token is limited to another role', () => {
  async function claimAsArchitect() {
    const issuer = await startIssuer();
    onTestFinished(() => issuer.remove());
    const token = async (claims: object) =>
      bearer(await issuer.sign({ tenant_id: 'acme', role: 'agent', ...claims }));
    admin = await token({ role: 'admin', sub: 'root' });
    await startConfigured({ auth: { jwt: issuer.jwt } }, admin);
    const developer = await token({ agent_role: 'developer' });
    const architect = await token({ agent_role: 'architect' });
    const granted = await send('POST', `${PROJECT_URL}/claims`, { task_id: EDGE, ...IDENTITY }, architect);
    const { id: claim_id, generation } = granted.body.claim;
    const result = { task_id: EDGE, session_id: 's1', claim_id, generation, result_data: 1 };
    return { developer, architect, result: { ...result, ...evaluatorReport() } };
  }
  const resume = { ...IDENTITY, resume: true };
  const lastRefusal = async () =>
    (await send('GET', `${PROJECT_URL}/events?type=result_rejected`, undefined, admin)).body.events.at(-1);

  it('does not get back a claim that it could not submit, and is given other work', async () => {
    const { developer, architect } = await claimAsArchitect();
    const refused = await send('POST', `${PROJECT_URL}/claims`, { task_id: EDGE, ...resume }, developer);
    expect(refused.body).toMatchObject({ reason: 'DENIED_ACTIVE_CLAIM', claim: null });
    expect(refused.body.next).toMatch(/"developer".*"architect".*credential of that role/s);
    const next = await send('POST', `${PROJECT_URL}/next`, resume, developer);
    expect(next.body).toMatchObject({ reason: 'GRANTED', claim: { task_id: TASK } });
    const own = await send('POST', `${PROJECT_URL}/claims`, { task_id: EDGE, ...resume }, architect);
    expect(own.body).toMatchObject({ reason: 'GRANTED', resumed: true });
  });

  it('does not park a late result as the work of the other role', async () => {
    const { developer, architect, result } = await claimAsArchitect();
    const path = `${PROJECT_URL}/tasks/${encodeURIComponent(EDGE)}/reassign`;
    const reassign = { expected_generation: 1, reason: 'x', agent_id: 'zeta', session_id: 's7' };
    expect((await send('POST', path, reassign, admin)).body.reason).toBe('REASSIGNED');
    const refused = await send('POST', `${PROJECT_URL}/results`, result, developer);
    expect([refused.status, refused.body.code]).toEqual([403, 'FORBIDDEN']);
    expect(await lastRefusal()).toBeUndefined();
    const late = await send('POST', `${PROJECT_URL}/results`, result, architect);
    expect(late.body).toMatchObject({ reason: 'STALE_GENERATION', parked: expect.any(String) });
    expect(await lastRefusal()).toMatchObject({ agent_role: 'architect', payload: { parked: true } });
  });

  it('is recorded as the sender of a guessed handle', async () => {
    const { developer, result } = await claimAsArchitect();
    const guess = { ...result, claim_id: `clm_${'a'.repeat(22)}` };
    const refused = await send('POST', `${PROJECT_URL}/results`, guess, developer);
    expect(refused.body).toMatchObject({ accepted: false, reason: 'SESSION_MISMATCH' });
    expect(await lastRefusal()).toMatchObject({ payload: { verified: false, refused_count: 1 } });
  });
});

it.each([7, null, ['developer'], { name: 'developer' }, '', 'two words', 'a'.repeat(65)])(
  'a token with the agent role %j is refused, not treated as a token without an agent role',
  async (agent_role) => {
    const issuer = await startIssuer();
    onTestFinished(() => issuer.remove());
    testServer = await TestServer.forTest({ auth: { jwt: issuer.jwt } });
    const token = await issuer.sign({ tenant_id: 'acme', role: 'agent', agent_role });
    const { status, body } = await send('GET', `${TENANT_URL}/limits`, undefined, bearer(token));
    expect([status, body.code]).toEqual([401, 'UNAUTHENTICATED']);
    expect(body.detail).toContain('agent_role');
  },
);
