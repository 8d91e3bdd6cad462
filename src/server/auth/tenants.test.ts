import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestRunner } from '../../../test/support/test-runner.js';
import type { Route } from '../route.js';
import { ROUTES } from '../routes.js';
import { type AnyJson, PROJECT_URL, TENANT_URL, TestServer } from '../testing/test-server.js';
import { ROLES, type Role } from './principal.js';

/** The roles that may call each route in their own tenant. A route missing here fails the test. */
const ALL = 'viewer agent runner reviewer admin operator';
const WORK = 'agent admin operator';
const REVIEW = 'reviewer admin operator';
const ADMIN = 'admin operator';
const MAY: Readonly<Record<string, string>> = {
  append_event: `${WORK} reviewer`,
  import_events: ADMIN,
  trust_imports: ADMIN,
  spawn: WORK,
  fold_back: WORK,
  checkpoint: WORK,
  validate_gaps: WORK,
  claim_task: WORK,
  batch_claim: WORK,
  renew_lease: WORK,
  renew_batch: WORK,
  release_claim: WORK,
  release_batch: WORK,
  suspend_claim: WORK,
  resume_claim: WORK,
  submit_result: WORK,
  submit_batch: WORK,
  next: WORK,
  note: WORK,
  put_blob: `${WORK} runner`,
  propose_candidate: WORK,
  record_evidence: 'runner admin operator',
  list_candidates: ALL,
  iterate: WORK,
  list_runs: ALL,
  get_run: ALL,
  runs_spent: ALL,
  cancel_run: ADMIN,
  open_session: WORK,
  close_session: WORK,
  record_review: REVIEW,
  adopt: REVIEW,
  decide_review: REVIEW,
  create_review_link: REVIEW,
  decide_proposal: REVIEW,
  list_tasks: ALL,
  batch_get_states: ALL,
  get_task_state: ALL,
  get_claim_history: ALL,
  list_results: ALL,
  get_result: ALL,
  explain: ALL,
  get_blob: ALL,
  get_plan: ALL,
  list_sessions: ALL,
  get_session: ALL,
  get_active_claims_for_session: ALL,
  get_limits: ALL,
  get_policy: ALL,
  status: ALL,
  agents: ALL,
  list_expired_claims: ALL,
  agent_events: ALL,
  recent_events: ALL,
  list_projects: ALL,
  whoami: ALL,
  events: ALL,
  audit_head: ALL,
  audit_proof: ALL,
  audit_consistency: ALL,
  audit_keys: ALL,
  events_stream: ALL,
  start: ALL,
  methodology_status: ALL,
  zoom: ALL,
  trace: ALL,
  pending_reviews: ALL,
  known_gaps: ALL,
  mcp: ALL,
  mcp_project: ALL,
  put_plan: ADMIN,
  add_tasks: WORK,
  init: ADMIN,
  release: ADMIN,
  force_release: ADMIN,
  reassign: ADMIN,
  reset: ADMIN,
  hold: ADMIN,
  unhold: ADMIN,
  put_limits: ADMIN,
  put_policy: ADMIN,
  create_key: ADMIN,
  list_keys: ADMIN,
  revoke_key: ADMIN,
  enrol_runner: ADMIN,
  list_runners: ADMIN,
  revoke_runner: ADMIN,
  audit_replace_key: ADMIN,
  audit_revoke_key: ADMIN,
  verify_log: ADMIN,
  metrics: 'operator',
};
const isPublic = (route: Route) => route.action === 'public';
const PROTECTED_ROUTES = ROUTES.filter((route) => !isPublic(route));
const OF_TENANT = PROTECTED_ROUTES.filter(({ path }) => path.includes('{tenant_id}'));

type Ids = Readonly<Record<string, string>>;
const TASK = 'A-001-core';
const BLOB = createHash('sha256').update('bytes').digest('hex');
/** Ids that do not exist, each as long as the one it replaces, so that reply lengths do not differ. */
const ABSENT: Ids = {
  tenant_id: 'zero',
  project_id: 'nope',
  subject: 'A-001-none',
  session_id: 's9',
  result_id: 'res_none',
  sha256: '0'.repeat(64),
  key_id: '0'.repeat(16),
  runner_id: `rnr_${'0'.repeat(24)}`,
  run_id: '00000000-0000-7000-8000-000000000000',
  name: 'index.html',
};

let testServer: TestServer;
let there: Ids;
const keyOf = {} as Record<Role, string>;
let agentOfAcme: string;

beforeAll(async () => {
  testServer = await TestServer.start();
  await testServer.plan(TASK, 'B-001-data');
  await testServer.request('PUT', `${PROJECT_URL}/blobs/${BLOB}`, Buffer.from('bytes'));
  const { generation: _, ...handle } = await testServer.claim(TASK);
  const { body } = await testServer.post(`${PROJECT_URL}/results`, {
    ...handle,
    generation: 1,
    result_data: 1,
  });
  expect(body.accepted).toBe(true);
  const results = await testServer.get(`${PROJECT_URL}/tasks/${TASK}/results`);
  const enrolled = await testServer.post(`${PROJECT_URL}/runners`, {
    public_key: new TestRunner().public_key,
  });
  const createKey = async (tenant: string, role: Role, token = '') => {
    const headers = token === '' ? {} : { authorization: `Bearer ${token}` };
    return (await testServer.request('POST', `/api/tenants/${tenant}/keys`, { role }, headers)).body;
  };
  keyOf.operator = (await createKey('acme', 'operator')).token;
  const acme = await createKey('acme', 'agent', keyOf.operator);
  agentOfAcme = acme.token;
  for (const role of ROLES.filter((each) => each !== 'operator')) {
    keyOf[role] = (await createKey('else', role, keyOf.operator)).token;
  }
  there = {
    tenant_id: 'acme',
    project_id: 'shop',
    subject: TASK,
    session_id: 's1',
    result_id: results.body.results[0].id,
    sha256: BLOB,
    key_id: acme.key_id,
    runner_id: enrolled.body.runner_id,
    run_id: '00000000-0000-7000-8000-000000000001',
    name: 'index.html',
  };
});
afterAll(() => testServer.remove());

const pathOf = (route: Route, ids: Ids): string =>
  route.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(ids[name] ?? `no ${name}`));

/** The fields that each command needs in addition to its task and session. Commands missing here fail validation. */
const handle = { claim_id: 'clm_of_nobody' };
const MORE: Readonly<Record<string, object>> = {
  append_event: { agent_id: 'beta' },
  claim_task: { agent_id: 'beta' },
  renew_lease: { ...handle, expected_generation: 1 },
  release_claim: { ...handle, expected_generation: 1 },
  suspend_claim: { ...handle, expected_generation: 1 },
  resume_claim: { ...handle, expected_generation: 1 },
  submit_result: { ...handle, generation: 1, result_data: 1 },
  note: { ...handle, generation: 1, text: 'hello' },
  propose_candidate: { ...handle, expected_generation: 1, candidate_sha256: BLOB },
};

function bodyOf(route: Route, ids: Ids): string | undefined {
  if (route.body === undefined) return undefined;
  if (route.body.kind === 'bytes') return 'other bytes';
  return JSON.stringify({ task_id: ids.subject, session_id: ids.session_id, ...MORE[route.id] });
}

async function ask(route: Route, ids: Ids, token: string | null) {
  const body = bodyOf(route, ids);
  const response = await fetch(testServer.url + pathOf(route, ids), {
    method: route.method,
    headers: {
      'content-type': 'application/json',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body }),
  });
  const isStream = response.headers.get('content-type')?.includes('event-stream') ?? false;
  if (isStream) await response.body?.cancel();
  const headers = [...response.headers].filter(([name]) => name !== 'date');
  return { status: response.status, headers, text: isStream ? '' : await response.text() };
}
const codeOf = ({ text }: { text: string }): string => (JSON.parse(text) as AnyJson).code;

test('the table of permissions covers every guarded route', () => {
  expect(PROTECTED_ROUTES.map(({ id }) => id).sort()).toEqual(Object.keys(MAY).sort());
});

// req: TEN-006
describe.each(ROLES.filter((role) => role !== 'operator'))('a %s of another tenant', (role) => {
  test.each(OF_TENANT.map((route) => [route.id, route] as const))(
    'gets the same response from %s for existing and missing resources, byte for byte',
    async (_, route) => {
      const answers = await Promise.all([ask(route, there, keyOf[role]), ask(route, ABSENT, keyOf[role])]);
      expect(answers[0].status).toBe(404);
      expect(answers[0]).toEqual(answers[1]);
    },
  );
});

test.each(OF_TENANT.map((route) => [route.id, route] as const))(
  'in its own tenant, %s treats the ids of another tenant as unknown ids',
  async (_, route) => {
    // The same project in both requests, so that only the ids within it differ.
    const own = { tenant_id: 'else', project_id: 'mine' };
    const theirs = await ask(route, { ...there, ...own }, keyOf.admin);
    const nothings = await ask(route, { ...ABSENT, ...own }, keyOf.admin);
    const withoutIds = (text: string, ids: Ids) =>
      Object.values(ids).reduce((anonymized, id) => anonymized.replaceAll(id, '<id>'), text);
    expect(theirs.status).toBe(nothings.status);
    expect(withoutIds(theirs.text, there)).toBe(withoutIds(nothings.text, ABSENT));
  },
);

describe.each(ROLES)('a %s in its own tenant', (role) => {
  const ids: Ids = { ...ABSENT, tenant_id: 'else' };
  test.each(PROTECTED_ROUTES.map((route) => [route.id, route] as const))(
    'may call %s only if the table allows it',
    async (_, route) => {
      const reply = await ask(route, ids, keyOf[role]);
      const isForbidden = reply.status === 403 && codeOf(reply) === 'FORBIDDEN';
      expect(isForbidden ? 'forbidden' : 'allowed').toBe(
        MAY[route.id]?.split(' ').includes(role) ? 'allowed' : 'forbidden',
      );
      expect(reply.status).not.toBe(401);
      if (isForbidden) return;
      // An allowed request got past authorization, so it must not get the reply for a hidden tenant.
      expect(reply.text).not.toContain('not visible to your credential');
    },
  );
});

test.each(ROLES)('whoami lists exactly what the table allows a %s', async (role) => {
  const mine = { authorization: `Bearer ${keyOf[role]}` };
  const { body } = await testServer.request('GET', '/api/whoami', undefined, mine);
  expect(body).toMatchObject({ role, tenant_id: role === 'operator' ? null : 'else' });
  const allowed = ROUTES.filter((route) => isPublic(route) || MAY[route.id]?.split(' ').includes(role));
  expect(body.operations).toEqual(allowed.map(({ id }) => id).sort());
});

test('whoami names the user of a key, otherwise its label, otherwise its id', async () => {
  const mine = { authorization: `Bearer ${keyOf.operator}` };
  const nameOf = async (details: object) => {
    const create = { role: 'viewer', ...details };
    const { token, key_id } = (await testServer.request('POST', `${TENANT_URL}/keys`, create, mine)).body;
    const theirs = { authorization: `Bearer ${token}` };
    return { key_id, name: (await testServer.request('GET', '/api/whoami', undefined, theirs)).body.name };
  };
  expect(await nameOf({ user_id: 'alice', label: 'ci' })).toMatchObject({ name: 'alice' });
  expect(await nameOf({ label: 'ci' })).toMatchObject({ name: 'ci' });
  const unnamed = await nameOf({});
  expect(unnamed.name).toBe(unnamed.key_id);
});

test.each(ROUTES.map((route) => [route.id, route] as const))(
  'a caller without a credential may call %s only if it is public',
  async (_, route) => {
    const reply = await ask(route, there, null);
    // The token of the link is the credential.
    if (route.hasOwnToken) expect([reply.status, reply.text.includes('not valid')]).toEqual([404, true]);
    else if (isPublic(route)) expect(reply.status).toBe(200);
    else expect([reply.status, codeOf(reply)]).toEqual([401, 'UNAUTHENTICATED']);
  },
);

// req: AUD-002
test('a caller with a key must send the claim id, and the log has its address', async () => {
  const mine = { authorization: `Bearer ${agentOfAcme}` };
  const who = { agent_id: 'beta', session_id: 's2' };
  const granted = await testServer.requestOverSocket(
    'POST',
    `${PROJECT_URL}/claims`,
    { task_id: 'B-001-data', ...who },
    mine,
  );
  const held = { task_id: 'B-001-data', session_id: 's2', expected_generation: 1 };
  const refused = await testServer.request('POST', `${PROJECT_URL}/claims/renew`, held, mine);
  expect([refused.status, refused.body.code]).toEqual([400, 'CLAIM_ID_REQUIRED']);
  const claim_id = granted.body.claim.id;
  const renewed = await testServer.request(
    'POST',
    `${PROJECT_URL}/claims/renew`,
    { ...held, claim_id },
    mine,
  );
  expect(renewed.body.reason).toBe('RENEWED');
  const { body } = await testServer.request(
    'GET',
    `${PROJECT_URL}/events?type=CLAIM_ACQUIRED&session_id=s2`,
    undefined,
    mine,
  );
  expect(body.events[0].payload.metadata).toEqual({ client_ip: '127.0.0.1' });
});

test('an admin can neither create nor list keys of operators', async () => {
  const mine = { authorization: `Bearer ${keyOf.admin}` };
  const made = await testServer.request('POST', '/api/tenants/else/keys', { role: 'operator' }, mine);
  expect([made.status, made.body.code]).toEqual([403, 'FORBIDDEN']);
  const { body } = await testServer.request('GET', '/api/tenants/else/keys', undefined, mine);
  expect(new Set(body.keys.map((key: AnyJson) => key.role))).toEqual(
    new Set(['viewer', 'agent', 'runner', 'reviewer', 'admin']),
  );
  expect(JSON.stringify(body)).not.toContain('secret');
});

test('an operator may read every tenant', async () => {
  const mine = { authorization: `Bearer ${keyOf.operator}` };
  expect((await testServer.request('GET', `${TENANT_URL}/limits`, undefined, mine)).status).toBe(200);
  expect((await testServer.request('GET', '/api/tenants/else/limits', undefined, mine)).status).toBe(200);
});
