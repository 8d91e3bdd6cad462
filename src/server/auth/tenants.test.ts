import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SigningRunner } from '../../../test/support/signing-runner.js';
import type { Route } from '../route.js';
import { ROUTES } from '../routes.js';
import { type AnyJson, PROJECT_URL, TENANT_URL, TestServer } from '../testing/test-server.js';
import { ROLES, type Role } from './principal.js';

const ALL_ROLES = 'viewer agent runner reviewer admin operator';
const WORK_ROLES = 'agent admin operator';
const REVIEW_ROLES = 'reviewer admin operator';
const ADMIN_ROLES = 'admin operator';
/** The roles that may call each route in their own tenant. A route missing here fails the test. */
const ROLES_BY_ROUTE: Readonly<Record<string, string>> = {
  append_event: `${WORK_ROLES} reviewer`,
  import_events: ADMIN_ROLES,
  trust_imports: ADMIN_ROLES,
  spawn: WORK_ROLES,
  fold_back: WORK_ROLES,
  checkpoint: WORK_ROLES,
  validate_gaps: WORK_ROLES,
  claim_task: WORK_ROLES,
  batch_claim: WORK_ROLES,
  renew_lease: WORK_ROLES,
  renew_batch: WORK_ROLES,
  release_claim: WORK_ROLES,
  release_batch: WORK_ROLES,
  suspend_claim: WORK_ROLES,
  resume_claim: WORK_ROLES,
  submit_result: WORK_ROLES,
  submit_batch: WORK_ROLES,
  next: WORK_ROLES,
  note: WORK_ROLES,
  put_blob: `${WORK_ROLES} runner`,
  propose_candidate: WORK_ROLES,
  record_evidence: 'runner admin operator',
  list_candidates: ALL_ROLES,
  iterate: WORK_ROLES,
  list_runs: ALL_ROLES,
  get_run: ALL_ROLES,
  runs_spent: ALL_ROLES,
  cancel_run: ADMIN_ROLES,
  open_session: WORK_ROLES,
  close_session: WORK_ROLES,
  record_review: REVIEW_ROLES,
  adopt: REVIEW_ROLES,
  decide_review: REVIEW_ROLES,
  create_review_link: REVIEW_ROLES,
  decide_proposal: REVIEW_ROLES,
  list_tasks: ALL_ROLES,
  batch_get_states: ALL_ROLES,
  get_task_state: ALL_ROLES,
  get_claim_history: ALL_ROLES,
  list_results: ALL_ROLES,
  get_result: ALL_ROLES,
  explain: ALL_ROLES,
  get_blob: ALL_ROLES,
  get_plan: ALL_ROLES,
  list_sessions: ALL_ROLES,
  get_session: ALL_ROLES,
  get_active_claims_for_session: ALL_ROLES,
  get_limits: ALL_ROLES,
  get_policy: ALL_ROLES,
  status: ALL_ROLES,
  agents: ALL_ROLES,
  list_expired_claims: ALL_ROLES,
  agent_events: ALL_ROLES,
  recent_events: ALL_ROLES,
  list_projects: ALL_ROLES,
  whoami: ALL_ROLES,
  events: ALL_ROLES,
  audit_head: ALL_ROLES,
  audit_proof: ALL_ROLES,
  audit_consistency: ALL_ROLES,
  audit_keys: ALL_ROLES,
  events_stream: ALL_ROLES,
  start: ALL_ROLES,
  methodology_status: ALL_ROLES,
  zoom: ALL_ROLES,
  trace: ALL_ROLES,
  pending_reviews: ALL_ROLES,
  known_gaps: ALL_ROLES,
  mcp: ALL_ROLES,
  mcp_project: ALL_ROLES,
  put_plan: ADMIN_ROLES,
  add_tasks: WORK_ROLES,
  init: ADMIN_ROLES,
  release: ADMIN_ROLES,
  force_release: ADMIN_ROLES,
  reassign: ADMIN_ROLES,
  reset: ADMIN_ROLES,
  hold: ADMIN_ROLES,
  unhold: ADMIN_ROLES,
  put_limits: ADMIN_ROLES,
  put_policy: ADMIN_ROLES,
  create_key: ADMIN_ROLES,
  list_keys: ADMIN_ROLES,
  revoke_key: ADMIN_ROLES,
  enrol_runner: ADMIN_ROLES,
  list_runners: ADMIN_ROLES,
  revoke_runner: ADMIN_ROLES,
  audit_replace_key: ADMIN_ROLES,
  audit_revoke_key: ADMIN_ROLES,
  verify_log: ADMIN_ROLES,
  metrics: 'operator',
};
const isPublic = (route: Route) => route.action === 'public';
const PROTECTED_ROUTES = ROUTES.filter((route) => !isPublic(route));
const TENANT_ROUTES = PROTECTED_ROUTES.filter(({ path }) => path.includes('{tenant_id}'));

type Ids = Readonly<Record<string, string>>;
const TASK = 'A-001-core';
const BLOB_SHA256 = createHash('sha256').update('bytes').digest('hex');
/** Ids that do not exist, each as long as the one it replaces, so that reply lengths do not differ. */
const ABSENT_IDS: Ids = {
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
let existingIds: Ids;
const keyOf = {} as Record<Role, string>;
let agentOfAcme: string;

beforeAll(async () => {
  testServer = await TestServer.start();
  await testServer.putPlan(TASK, 'B-001-data');
  await testServer.request('PUT', `${PROJECT_URL}/blobs/${BLOB_SHA256}`, Buffer.from('bytes'));
  const { generation: _, ...handle } = await testServer.claim(TASK);
  const { body } = await testServer.post(`${PROJECT_URL}/results`, {
    ...handle,
    generation: 1,
    result_data: 1,
  });
  expect(body.accepted).toBe(true);
  const results = await testServer.get(`${PROJECT_URL}/tasks/${TASK}/results`);
  const enrolled = await testServer.post(`${PROJECT_URL}/runners`, {
    public_key: new SigningRunner().public_key,
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
  existingIds = {
    tenant_id: 'acme',
    project_id: 'shop',
    subject: TASK,
    session_id: 's1',
    result_id: results.body.results[0].id,
    sha256: BLOB_SHA256,
    key_id: acme.key_id,
    runner_id: enrolled.body.runner_id,
    run_id: '00000000-0000-7000-8000-000000000001',
    name: 'index.html',
  };
});
afterAll(() => testServer.remove());

const pathOf = (route: Route, ids: Ids): string =>
  route.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(ids[name] ?? `no ${name}`));

const handle = { claim_id: 'clm_of_nobody' };
/** The fields that each command needs in addition to its task and session. Commands missing here fail validation. */
const EXTRA_FIELDS: Readonly<Record<string, object>> = {
  append_event: { agent_id: 'beta' },
  claim_task: { agent_id: 'beta' },
  renew_lease: { ...handle, expected_generation: 1 },
  release_claim: { ...handle, expected_generation: 1 },
  suspend_claim: { ...handle, expected_generation: 1 },
  resume_claim: { ...handle, expected_generation: 1 },
  submit_result: { ...handle, generation: 1, result_data: 1 },
  note: { ...handle, generation: 1, text: 'hello' },
  propose_candidate: { ...handle, expected_generation: 1, candidate_sha256: BLOB_SHA256 },
};

function bodyOf(route: Route, ids: Ids): string | undefined {
  if (route.body === undefined) return undefined;
  if (route.body.kind === 'bytes') return 'other bytes';
  return JSON.stringify({ task_id: ids.subject, session_id: ids.session_id, ...EXTRA_FIELDS[route.id] });
}

async function callRoute(route: Route, ids: Ids, token: string | null) {
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
  expect(PROTECTED_ROUTES.map(({ id }) => id).sort()).toEqual(Object.keys(ROLES_BY_ROUTE).sort());
});

// req: TEN-006
describe.each(ROLES.filter((role) => role !== 'operator'))('a %s of another tenant', (role) => {
  test.each(TENANT_ROUTES.map((route) => [route.id, route] as const))(
    'gets the same response from %s for existing and missing resources, byte for byte',
    async (_, route) => {
      const replies = await Promise.all([
        callRoute(route, existingIds, keyOf[role]),
        callRoute(route, ABSENT_IDS, keyOf[role]),
      ]);
      expect(replies[0].status).toBe(404);
      expect(replies[0]).toEqual(replies[1]);
    },
  );
});

test.each(TENANT_ROUTES.map((route) => [route.id, route] as const))(
  'in its own tenant, %s treats the ids of another tenant as unknown ids',
  async (_, route) => {
    // The same project in both requests, so that only the ids within it differ.
    const ownProject = { tenant_id: 'else', project_id: 'mine' };
    const existingReply = await callRoute(route, { ...existingIds, ...ownProject }, keyOf.admin);
    const absentReply = await callRoute(route, { ...ABSENT_IDS, ...ownProject }, keyOf.admin);
    const withoutIds = (text: string, ids: Ids) =>
      Object.values(ids).reduce((anonymized, id) => anonymized.replaceAll(id, '<id>'), text);
    expect(existingReply.status).toBe(absentReply.status);
    expect(withoutIds(existingReply.text, existingIds)).toBe(withoutIds(absentReply.text, ABSENT_IDS));
  },
);

describe.each(ROLES)('a %s in its own tenant', (role) => {
  const ids: Ids = { ...ABSENT_IDS, tenant_id: 'else' };
  test.each(PROTECTED_ROUTES.map((route) => [route.id, route] as const))(
    'may call %s only if the table allows it',
    async (_, route) => {
      const reply = await callRoute(route, ids, keyOf[role]);
      const isForbidden = reply.status === 403 && codeOf(reply) === 'FORBIDDEN';
      expect(isForbidden ? 'forbidden' : 'allowed').toBe(
        ROLES_BY_ROUTE[route.id]?.split(' ').includes(role) ? 'allowed' : 'forbidden',
      );
      expect(reply.status).not.toBe(401);
      if (isForbidden) return;
      // An allowed request got past authorization, so it must not get the reply for a hidden tenant.
      expect(reply.text).not.toContain('not visible to your credential');
    },
  );
});

test.each(ROLES)('whoami lists exactly what the table allows a %s', async (role) => {
  const headers = { authorization: `Bearer ${keyOf[role]}` };
  const { body } = await testServer.request('GET', '/api/whoami', undefined, headers);
  expect(body).toMatchObject({ role, tenant_id: role === 'operator' ? null : 'else' });
  const allowed = ROUTES.filter(
    (route) => isPublic(route) || ROLES_BY_ROUTE[route.id]?.split(' ').includes(role),
  );
  expect(body.operations).toEqual(allowed.map(({ id }) => id).sort());
});

test('whoami names the user of a key, otherwise its label, otherwise its id', async () => {
  const headers = { authorization: `Bearer ${keyOf.operator}` };
  const nameOf = async (details: object) => {
    const create = { role: 'viewer', ...details };
    const { token, key_id } = (await testServer.request('POST', `${TENANT_URL}/keys`, create, headers)).body;
    const existingReply = { authorization: `Bearer ${token}` };
    return {
      key_id,
      name: (await testServer.request('GET', '/api/whoami', undefined, existingReply)).body.name,
    };
  };
  expect(await nameOf({ user_id: 'alice', label: 'ci' })).toMatchObject({ name: 'alice' });
  expect(await nameOf({ label: 'ci' })).toMatchObject({ name: 'ci' });
  const unnamed = await nameOf({});
  expect(unnamed.name).toBe(unnamed.key_id);
});

test.each(ROUTES.map((route) => [route.id, route] as const))(
  'a caller without a credential may call %s only if it is public',
  async (_, route) => {
    const reply = await callRoute(route, existingIds, null);
    // The token of the link is the credential.
    if (route.hasOwnToken) expect([reply.status, reply.text.includes('not valid')]).toEqual([404, true]);
    else if (isPublic(route)) expect(reply.status).toBe(200);
    else expect([reply.status, codeOf(reply)]).toEqual([401, 'UNAUTHENTICATED']);
  },
);

// req: AUD-002
test('a caller with a key must send the claim id, and the log has its address', async () => {
  const headers = { authorization: `Bearer ${agentOfAcme}` };
  const claimant = { agent_id: 'beta', session_id: 's2' };
  const granted = await testServer.requestOverSocket(
    'POST',
    `${PROJECT_URL}/claims`,
    { task_id: 'B-001-data', ...claimant },
    headers,
  );
  const handle = { task_id: 'B-001-data', session_id: 's2', expected_generation: 1 };
  const refused = await testServer.request('POST', `${PROJECT_URL}/claims/renew`, handle, headers);
  expect([refused.status, refused.body.code]).toEqual([400, 'CLAIM_ID_REQUIRED']);
  const claim_id = granted.body.claim.id;
  const renewed = await testServer.request(
    'POST',
    `${PROJECT_URL}/claims/renew`,
    { ...handle, claim_id },
    headers,
  );
  expect(renewed.body.reason).toBe('RENEWED');
  const { body } = await testServer.request(
    'GET',
    `${PROJECT_URL}/events?type=CLAIM_ACQUIRED&session_id=s2`,
    undefined,
    headers,
  );
  expect(body.events[0].payload.metadata).toEqual({ client_ip: '127.0.0.1' });
});

test('an admin can neither create nor list keys of operators', async () => {
  const headers = { authorization: `Bearer ${keyOf.admin}` };
  const created = await testServer.request('POST', '/api/tenants/else/keys', { role: 'operator' }, headers);
  expect([created.status, created.body.code]).toEqual([403, 'FORBIDDEN']);
  const { body } = await testServer.request('GET', '/api/tenants/else/keys', undefined, headers);
  expect(new Set(body.keys.map((key: AnyJson) => key.role))).toEqual(
    new Set(['viewer', 'agent', 'runner', 'reviewer', 'admin']),
  );
  expect(JSON.stringify(body)).not.toContain('secret');
});

test('an operator may read every tenant', async () => {
  const headers = { authorization: `Bearer ${keyOf.operator}` };
  expect((await testServer.request('GET', `${TENANT_URL}/limits`, undefined, headers)).status).toBe(200);
  expect((await testServer.request('GET', '/api/tenants/else/limits', undefined, headers)).status).toBe(200);
});
