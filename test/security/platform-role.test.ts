/**
 * Who: the admin of one tenant, or anyone whose identity provider lets a tenant choose the roles of its members. They
 * hold a valid token that names their tenant and the role `operator`.
 *
 * What they want: rights over the platform: to read `/metrics`, to reach other tenants, and to create, list or revoke
 * keys of platform operators; such a key gives access to everything else.
 *
 * What stops them: platform rights need a credential without a tenant. `authorize` decides this, and every route calls
 * it. A credential that names a tenant has at most the rights of an admin of that tenant, whatever its role is called.
 *
 * The tests cover every role, with and without a tenant, on every route. The expected rights are in the table below,
 * not in the code under test.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROLES, type Role } from '../../src/core/roles.js';
import type { Route } from '../../src/server/route.js';
import { ROUTES } from '../../src/server/routes.js';
import { type AnyJson, TestServer } from '../../src/server/testing/test-server.js';
import { bearer } from '../support/bearer.js';
import { type Issuer, startIssuer } from './support/issuer.js';

/** The right that a route requires. */
type Right = 'public' | 'read' | 'work' | 'upload' | 'attest' | 'review' | 'tell' | 'administer' | 'platform';

/** The roles that have each right in their own tenant. No role of a tenant has `platform`. */
const ROLES_WITH_RIGHT: Readonly<Record<Right, readonly Role[]>> = {
  public: ROLES,
  read: ROLES,
  work: ['agent', 'admin', 'operator'],
  upload: ['agent', 'runner', 'admin', 'operator'],
  attest: ['runner', 'admin', 'operator'],
  review: ['reviewer', 'admin', 'operator'],
  tell: ['agent', 'reviewer', 'admin', 'operator'],
  administer: ['admin', 'operator'],
  platform: [],
};

const RIGHT_OF_ROUTES: Readonly<Record<Right, string>> = {
  public: 'healthz readyz page page_asset page_style openapi docs review_link decide_review_link',
  read:
    'list_tasks batch_get_states get_task_state get_claim_history list_results get_result explain get_blob get_plan audit_head audit_proof audit_consistency audit_keys ' +
    'list_sessions get_session get_active_claims_for_session get_limits get_policy status agents list_expired_claims list_projects whoami events recent_events agent_events ' +
    'events_stream start methodology_status zoom trace pending_reviews known_gaps mcp mcp_project list_candidates list_runs get_run runs_spent',
  work:
    'spawn fold_back checkpoint validate_gaps claim_task batch_claim renew_lease renew_batch release_claim ' +
    'release_batch suspend_claim resume_claim submit_result submit_batch next note open_session close_session add_tasks propose_candidate iterate',
  upload: 'put_blob',
  attest: 'record_evidence',
  review: 'record_review adopt decide_review decide_proposal create_review_link',
  tell: 'append_event',
  administer:
    'import_events trust_imports put_plan init release force_release reassign reset hold unhold put_limits put_policy ' +
    'create_key list_keys revoke_key audit_replace_key audit_revoke_key verify_log enrol_runner list_runners revoke_runner cancel_run',
  platform: 'metrics',
};

const RIGHT_OF = new Map(
  (Object.entries(RIGHT_OF_ROUTES) as [Right, string][]).flatMap(([right, ids]) =>
    ids.split(' ').map((id) => [id, right] as const),
  ),
);

/** Class of a response: 401, 403, the 404 of a hidden tenant, or any response of the route itself. */
type AccessVerdict = 'unknown' | 'forbidden' | 'hidden' | 'served';

const OWN = 'acme';
const OTHER = 'other';
const isTenantInPath = ({ path }: Route): boolean => path.includes('{tenant_id}');

/** The verdict that the tables above demand. `requestedTenant`: the tenant that the request names. */
function expected(route: Route, role: Role, hasTenant: boolean, requestedTenant: string): AccessVerdict {
  const right = RIGHT_OF.get(route.id) as Right;
  if (right === 'public') return 'served';
  if (!hasTenant) return role === 'operator' ? 'served' : 'unknown';
  if (right !== 'platform' && requestedTenant !== OWN) return 'hidden';
  return ROLES_WITH_RIGHT[right].includes(role) ? 'served' : 'forbidden';
}

let testServer: TestServer;
let issuer: Issuer;

beforeAll(async () => {
  issuer = await startIssuer();
  // A connection that got a 401 is reused, so it must stay open however slow the machine is.
  testServer = await TestServer.start({ auth: { jwt: issuer.jwt }, listen: { linger_ms: 600_000 } });
});
afterAll(async () => {
  await testServer.remove();
  await issuer.remove();
});

const tokenOf = (role: Role, hasTenant: boolean): Promise<string> =>
  issuer.sign({ role, ...(hasTenant ? { tenant_id: OWN } : {}) });

const IDS: Readonly<Record<string, string>> = {
  project_id: 'shop',
  subject: 'A-001-none',
  session_id: 's9',
  result_id: 'res_none',
  sha256: '0'.repeat(64),
  key_id: '0'.repeat(16),
  runner_id: `rnr_${'0'.repeat(24)}`,
  run_id: '00000000-0000-7000-8000-000000000000',
  name: 'index.html',
};

async function requestAs(route: Route, requestedTenant: string, token: string): Promise<AccessVerdict> {
  const path = route.path.replace(/\{(\w+)\}/g, (_, name) =>
    name === 'tenant_id' ? requestedTenant : (IDS[name] ?? ''),
  );
  const tenantHeader = route.tenant === 'own' ? { 'x-genesis-tenant': requestedTenant } : {};
  const response = await fetch(testServer.url + path, {
    method: route.method,
    headers: { 'content-type': 'application/json', ...tenantHeader, ...bearer(token) },
    ...(route.body === undefined ? {} : { body: route.body.kind === 'bytes' ? 'bytes' : '{}' }),
  });
  const isStream = response.headers.get('content-type')?.includes('event-stream') ?? false;
  if (isStream) await response.body?.cancel();
  const text = isStream ? '' : await response.text();
  if (response.status === 401) return 'unknown';
  if (response.status === 403) return 'forbidden';
  return response.status === 404 && text.includes('not visible to your credential') ? 'hidden' : 'served';
}

it('the table lists the required right of every route', () => {
  expect([...RIGHT_OF.keys()].sort()).toEqual(ROUTES.map(({ id }) => id).sort());
});

describe.each(ROLES.flatMap((role) => [true, false].map((hasTenant) => ({ role, hasTenant }))))(
  'a token of role $role (limited to a tenant: $hasTenant)',
  ({ role, hasTenant }) => {
    it.each(ROUTES.map((route) => [route.id, route] as const))(
      'has the access to %s that the table lists',
      async (_, route) => {
        const token = await tokenOf(role, hasTenant);
        const tenants = isTenantInPath(route) || route.tenant === 'own' ? [OWN, OTHER] : [OWN];
        for (const tenantId of tenants) {
          expect(await requestAs(route, tenantId, token), tenantId).toBe(
            expected(route, role, hasTenant, tenantId),
          );
        }
      },
    );
  },
);

describe('keys of platform operators', () => {
  const keys = `/api/tenants/${OWN}/keys`;
  const as = async (role: Role, hasTenant: boolean) => bearer(await tokenOf(role, hasTenant));

  it.each(ROLES)('are not created by a %s that is limited to a tenant', async (role) => {
    const made = await testServer.request('POST', keys, { role: 'operator' }, await as(role, true));
    expect([made.status, made.body.code]).toEqual([403, 'FORBIDDEN']);
  });

  it('are listed and revoked by platform operators only', async () => {
    const platform = await as('operator', false);
    const { status, body } = await testServer.request('POST', keys, { role: 'operator' }, platform);
    expect([status, body.tenant_id]).toEqual([201, null]);
    const path = `${keys}/${body.key_id}`;
    for (const role of ['admin', 'operator'] as const) {
      const tenantToken = await as(role, true);
      const listed = await testServer.request('GET', keys, undefined, tenantToken);
      expect(listed.body.keys.map((key: AnyJson) => key.key_id)).not.toContain(body.key_id);
      expect((await testServer.request('DELETE', path, undefined, tenantToken)).status).toBe(404);
    }
    const listed = await testServer.request('GET', keys, undefined, platform);
    expect(listed.body.keys.map((key: AnyJson) => key.key_id)).toContain(body.key_id);
    expect((await testServer.request('DELETE', path, undefined, platform)).body.state).toBe('revoked');
  });

  it('are named as the required credential when an operator of a tenant is refused', async () => {
    const { status, body } = await testServer.request(
      'GET',
      '/metrics',
      undefined,
      await as('operator', true),
    );
    expect(status).toBe(403);
    expect(body.detail).toContain('gen key create --role operator');
  });
});
