import { describe, expect, test } from 'vitest';
import { canonicalJson } from '../../src/core/canonical-json.js';
import { type AnyJson, TestServer } from '../../src/server/testing/test-server.js';
import { reportedOutcome, SigningRunner, sha256Of } from '../support/signing-runner.js';
import { evaluatorReport, FILES } from '../support/workspace-files.js';

type Headers = Record<string, string>;

const SUBJECT = 'REQ-F-A#design_code';
const PROJECT = '/api/tenants/acme/projects/shop';
const TASK = `${PROJECT}/tasks/${encodeURIComponent(SUBJECT)}`;
const ROLES = 'roles:\n  architect: { converge_edges: [design_code] }\n';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const MCP_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2025-11-25',
};
const idOf = (number: number) => `019b8000-0000-7000-8000-${String(number).padStart(12, '0')}`;

/** A project under `evidence: verified` with an enrolled runner, and an agent that has claimed an edge. */
async function openVerified() {
  const testServer = await TestServer.forTest();
  const makeKey = async (tenant: string, role: string, by: Headers = {}): Promise<Headers> => {
    const { body } = await testServer.request('POST', `/api/tenants/${tenant}/keys`, { role }, by);
    return { authorization: `Bearer ${body.token}`, 'x-genesis-tenant': tenant };
  };
  const operator = await makeKey('acme', 'operator');
  const keys = {
    admin: await makeKey('acme', 'admin', operator),
    agent: await makeKey('acme', 'agent', operator),
    reviewer: await makeKey('acme', 'reviewer', operator),
    runner: await makeKey('acme', 'runner', operator),
    rivalAdmin: await makeKey('rival', 'admin', operator),
    rivalReviewer: await makeKey('rival', 'reviewer', operator),
    rivalRunner: await makeKey('rival', 'runner', operator),
  };
  const post = (path: string, body: unknown, as: Headers) => testServer.request('POST', path, body, as);
  const files = { ...FILES, 'agent_roles.yml': ROLES };
  for (const as of [keys.admin, keys.rivalAdmin])
    expect((await post('/api/init', { project_id: 'shop', files }, as)).status).toBe(200);
  await testServer.request('PUT', `${PROJECT}/policy`, { evidence: 'verified' }, keys.admin);
  const runner = new SigningRunner();
  await post(`${PROJECT}/runners`, { public_key: runner.public_key }, keys.admin);
  const by = { agent_id: 'mallory', session_id: 's1', agent_role: 'architect' };
  const claimed = await post(`${PROJECT}/claims`, { task_id: SUBJECT, ...by }, keys.agent);
  const handle = { task_id: SUBJECT, session_id: 's1', claim_id: claimed.body.claim.id as string };
  const put = async (bytes: Uint8Array): Promise<string> => {
    const sha256 = sha256Of(bytes);
    const options = { method: 'PUT', headers: keys.agent, body: Buffer.from(bytes) };
    expect((await fetch(`${testServer.url}${PROJECT}/blobs/${sha256}`, options)).status).toBeLessThan(300);
    return sha256;
  };
  const proposeManifest = async (manifest: unknown) => {
    const candidate_sha256 = await put(Buffer.from(canonicalJson(manifest)));
    const body = { ...handle, expected_generation: 1, candidate_sha256 };
    return { candidate_sha256, reply: await post(`${PROJECT}/candidates`, body, keys.agent) };
  };
  const submit = (more: object, as = keys.agent) =>
    post(`${PROJECT}/results`, { ...handle, generation: 1, iteration: 1, ...evaluatorReport(), ...more }, as);
  const task = async (): Promise<AnyJson> =>
    (await testServer.request('GET', TASK, undefined, keys.admin)).body;
  const expectOpen = async () => expect(await task()).toMatchObject({ phase: 'OPEN', result: null });
  return { testServer, keys, post, put, runner, handle, proposeManifest, submit, expectOpen };
}

const CONTENT = Buffer.from('export const cart = [];\n');
const fileAt = (path: string, more: object = {}) => ({
  ...{
    path,
    sha256: sha256Of(CONTENT),
    size_bytes: CONTENT.byteLength,
    executable: false,
    base_sha256: null,
  },
  ...more,
});
const manifestOf = (...files: { readonly size_bytes: number }[]) => ({
  ...{ kind: 'files', files },
  total_bytes: files.reduce((sum, { size_bytes }) => sum + size_bytes, 0),
});

describe('a manifest', () => {
  test.each([
    ['says that a file is smaller than it is', [fileAt('src/a.ts', { size_bytes: 0 })]],
    ['says that a file is larger than it is', [fileAt('src/a.ts', { size_bytes: 100 })]],
    ['names a path twice', [fileAt('src/a.ts'), fileAt('src/a.ts')]],
    ['names a path in two spellings', [fileAt('src/a.ts'), fileAt('SRC/A.ts')]],
    ['names a file and a folder of one name', [fileAt('src'), fileAt('src/a.ts')]],
    ['leaves the project', [fileAt('../a.ts')]],
    ['leaves the project inside a path', [fileAt('src/../../a.ts')]],
    ['has an absolute path', [fileAt('/etc/passwd')]],
    ['changes an edge', [fileAt('.ai-workspace/graph/edges/design_code.yml')]],
    ['changes git', [fileAt('.GIT/config')]],
    ['is a link', [fileAt('src/a.ts', { link: '/etc/passwd' })]],
    ['has too many files', Array.from({ length: 2001 }, (_, at) => fileAt(`src/${at}.ts`))],
  ])('that %s is neither proposed nor submitted', async (_, files) => {
    const { put, proposeManifest, submit, expectOpen } = await openVerified();
    await put(CONTENT);
    const { candidate_sha256, reply } = await proposeManifest(manifestOf(...files));
    expect([reply.status, reply.body.success ?? false]).toEqual([400, false]);
    expect((await submit({ blob_sha256: candidate_sha256 })).body.accepted ?? false).toBe(false);
    await expectOpen();
  });
});

describe('under `evidence: verified`', () => {
  test('an agent may not use the verbs of operators, nor import or trust a log', async () => {
    const { keys, post, expectOpen } = await openVerified();
    const operator = { expected_generation: 1, reason: 'because' };
    for (const verb of ['reset', 'reassign', 'unhold', 'hold', 'force_release', 'adopt']) {
      const to = { agent_id: 'mallory', session_id: 's2', agent_role: 'human', result_id: 'res_x' };
      for (const as of [keys.agent, keys.runner])
        expect([verb, (await post(`${TASK}/${verb}`, { ...operator, ...to }, as)).status]).toEqual([
          verb,
          403,
        ]);
    }
    for (const path of ['/events/import', '/events/import/trust'])
      expect((await post(`${PROJECT}${path}`, { events: [], reason: 'x' }, keys.agent)).status).toBe(403);
    await expectOpen();
  });

  test('events that an agent appends or an admin imports enrol no runner, record no evidence and converge nothing', async () => {
    const { testServer, keys, post, handle, submit, expectOpen } = await openVerified();
    const forger = new SigningRunner();
    const record = {
      state: 'enrolled',
      ...{ public_key: forger.public_key, label: null, enrolled_by: 'x' },
      ...{ enrolled_at: '2026-01-04T06:00:00.000Z', revoked_at: null },
    };
    const forged = [
      ['RUNNER_ENROLLED', '~runners', { record: { runners: { [forger.runner_id]: record } } }],
      ['POLICY_CHANGED', '~policy', { record: { evidence: 'reported' } }],
      ['EVIDENCE_RECORDED', `~candidate/${SUBJECT}`, { record: {} }],
      ['edge_converged', SUBJECT, { generation: 1 }],
      ['review_completed', SUBJECT, { decision: 'APPROVED', reviewer: 'rita', generation: 1 }],
    ] as const;
    for (const [at, [event_type, subject, payload]] of forged.entries()) {
      const own = { event_type, agent_id: 'mallory', session_id: 's1', payload };
      const appended = await post(`${PROJECT}/events`, { ...own, ...handle, generation: 1 }, keys.agent);
      expect([event_type, appended.status < 300]).toEqual([event_type, false]);
      const times = { event_id: idOf(at), timestamp: '2026-01-04T06:00:00.000Z' };
      const keysOf = { subject, feature_id: 'REQ-F-A', edge: 'design_code' };
      await post(`${PROJECT}/events/import`, { events: [{ ...own, ...times, ...keysOf }] }, keys.admin);
    }
    const runners = await testServer.request('GET', `${PROJECT}/runners`, undefined, keys.admin);
    expect(runners.body.runners).toHaveLength(1);
    const policy = await testServer.request('GET', `${PROJECT}/policy`, undefined, keys.admin);
    expect(policy.body.evidence).toBe('verified');
    expect((await submit({ result_data: 'x' })).body.reason).toBe('NOT_CONVERGED');
    await expectOpen();
  });

  test('neither a batch nor MCP converges what the holder could not submit', async () => {
    const { testServer, keys, post, handle, expectOpen } = await openVerified();
    const result = { ...handle, generation: 1, iteration: 1, result_data: 'x', ...evaluatorReport() };
    await post(`${PROJECT}/results/batch`, { items: [result, result] }, keys.agent);
    const call = async (name: string, args: object): Promise<string> => {
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
      const headers = { ...keys.agent, ...MCP_HEADERS };
      const options = { method: 'POST', headers, body: JSON.stringify(message) };
      return (await fetch(`${testServer.url}/mcp/acme/shop`, options)).text();
    };
    const { details } = evaluatorReport().evaluators;
    const submitted = { handle: { ...handle, generation: 1 }, result_data: 'x', evaluators: details };
    expect(await call('submit', submitted)).toContain('NOT_CONVERGED');
    for (const name of ['review', 'approve', 'adopt', 'record_evidence', 'enrol_runner', 'reset'])
      expect([name, await call(name, {})]).toEqual([name, expect.stringContaining('not found')]);
    await expectOpen();
  });

  test('evidence is recorded neither with the key of another tenant nor for that tenant', async () => {
    const { keys, post, put, runner, proposeManifest, submit, expectOpen } = await openVerified();
    await put(CONTENT);
    const { candidate_sha256, reply } = await proposeManifest(manifestOf(fileAt('src/a.ts')));
    expect(reply.body.reason).toBe('PROPOSED');
    const { base_version } = reply.body;
    const checks = [reportedOutcome('compiles', 'make')];
    const about = { task_id: SUBJECT, candidate_sha256, base_version, checks };
    const evidence = runner.signed(runner.statement(about));
    expect((await post(`${PROJECT}/evidence`, { evidence }, keys.rivalRunner)).status).toBe(404);
    const theirs = PROJECT.replace('acme', 'rival');
    expect((await post(`${theirs}/evidence`, { evidence }, keys.rivalRunner)).status).toBe(400);
    const moved = runner.signed(runner.statement({ ...about, tenant_id: 'rival' }));
    expect((await post(`${theirs}/evidence`, { evidence: moved }, keys.rivalRunner)).body.reason).toBe(
      'UNKNOWN_RUNNER',
    );
    expect((await post(`${PROJECT}/evidence`, { evidence: moved }, keys.runner)).status).toBe(400);
    expect((await submit({ blob_sha256: candidate_sha256 })).body.reason).toBe('NOT_CONVERGED');
    await expectOpen();
    expect((await post(`${PROJECT}/evidence`, { evidence }, keys.runner)).body.reason).toBe('RECORDED');
    expect((await submit({ blob_sha256: candidate_sha256 })).body).toMatchObject({ accepted: true });
  });
});

describe('a review link', () => {
  async function openWaiting() {
    const opened = await openVerified();
    const { keys, post, handle, testServer } = opened;
    const candidate = { iteration: 1, candidate_sha256: 'a'.repeat(64) };
    const suspend = { ...handle, expected_generation: 1, ...candidate };
    expect((await post(`${PROJECT}/claims/suspend`, suspend, keys.agent)).body.success).toBe(true);
    const body = { project_id: 'shop', task_id: SUBJECT, reviewer: 'rita' };
    const link = (more: object = {}, as = keys.reviewer) =>
      post('/api/review/link', { ...body, ...more }, as);
    const decide = (path: string, decision = 'APPROVED') =>
      testServer.request(
        'POST',
        '/reviews/link',
        new URLSearchParams({ token: path.split('token=')[1] ?? '', decision }).toString(),
        FORM,
      );
    return { ...opened, link, decide };
  }

  test('of a claim that was reassigned decides nothing', async () => {
    const { keys, post, link, decide, expectOpen } = await openWaiting();
    const { path } = (await link()).body;
    const to = { agent_id: 'bob', session_id: 's-bob', expected_generation: 1, reason: 'because' };
    await post(`${PROJECT}/sessions`, { session_id: 's-bob', agent_id: 'bob' }, keys.agent);
    expect((await post(`${TASK}/reassign`, to, keys.admin)).body).toMatchObject({ success: true });
    expect((await decide(path)).status).toBe(409);
    await expectOpen();
  });

  test('is not made for the candidate of another tenant or project', async () => {
    const { keys, link } = await openWaiting();
    expect((await link({}, keys.rivalReviewer)).body.path).toBeUndefined();
    expect((await link({}, { ...keys.rivalReviewer, 'x-genesis-tenant': 'acme' })).status).toBe(404);
    expect((await link({ project_id: 'bank' })).status).toBe(404);
  });

  test('is valid for a year at most, and a claim cannot wait longer than a year for its review', async () => {
    const { testServer, keys, link } = await openWaiting();
    for (const valid_days of [367, 1e9, -1, Number.MAX_SAFE_INTEGER, '9'.repeat(400)])
      expect([valid_days, (await link({ valid_days })).status]).toEqual([valid_days, 400]);
    for (const suspend_max_seconds of [367 * 86_400, 1e15, -1, 1.5]) {
      const { status } = await testServer.request(
        'PUT',
        `${PROJECT}/policy`,
        { suspend_max_seconds },
        keys.admin,
      );
      expect([suspend_max_seconds, status]).toEqual([suspend_max_seconds, 400]);
    }
  });
});
