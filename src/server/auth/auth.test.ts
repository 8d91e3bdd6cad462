import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { bearer } from '../../../test/support/bearer.js';
import { FrozenTime } from '../../../test/support/frozen-time.js';
import { publicKeyText, signCommand } from '../../client/sign-command.js';
import { startServer } from '../server.js';
import { openStoreUrl } from '../store-url.js';
import { PROJECT_URL, TENANT_URL, TestServer } from '../testing/test-server.js';

const TASK = 'A-001-core';

async function openWithKeys(options: Parameters<typeof TestServer.forTest>[0] = {}) {
  const lines: Record<string, unknown>[] = [];
  const testServer = await TestServer.forTest({ log: (line) => lines.push(line), ...options });
  await testServer.putPlan(TASK);
  const { body } = await testServer.post(`${TENANT_URL}/keys`, { role: 'admin', user_id: 'alice' });
  return {
    testServer,
    lines,
    key: body as { key_id: string; token: string },
    adminHeaders: bearer(body.token),
  };
}

test('limits the requests of a key, but not its renewals', async () => {
  FrozenTime.begin();
  const rate_limits = { requests_per_second: 0.001, requests_burst: 2 };
  const { testServer, adminHeaders } = await openWithKeys({ auth: { rate_limits } });
  const claimant = { agent_id: 'alpha', session_id: 's1' };
  const granted = await testServer.request(
    'POST',
    `${PROJECT_URL}/claims`,
    { task_id: TASK, ...claimant },
    adminHeaders,
  );
  expect((await testServer.request('GET', `${PROJECT_URL}/status`, undefined, adminHeaders)).status).toBe(
    200,
  );
  const refused = await testServer.request('GET', `${PROJECT_URL}/status`, undefined, adminHeaders);
  expect([refused.status, refused.body.code]).toEqual([429, 'RATE_LIMITED']);
  expect(refused.headers.get('retry-after')).toBe('1000');
  const handle = { task_id: TASK, session_id: 's1', expected_generation: 1, claim_id: granted.body.claim.id };
  const renewed = await testServer.request('POST', `${PROJECT_URL}/claims/renew`, handle, adminHeaders);
  expect(renewed.body.reason).toBe('RENEWED');
});

// req: AUD-008
test('logs each request as one line, without secrets', async () => {
  const { testServer, lines, key, adminHeaders } = await openWithKeys();
  lines.length = 0;
  const claimant = { agent_id: 'alpha', session_id: 's1' };
  const claim = { task_id: TASK, ...claimant, request_id: 'r1' };
  const { body } = await testServer.request('POST', `${PROJECT_URL}/claims`, claim, adminHeaders);
  const note = { session_id: 's1', generation: 1, claim_id: body.claim.id, text: 'private' };
  await testServer.request('POST', `${PROJECT_URL}/tasks/${TASK}/notes`, note, adminHeaders);
  await testServer.request('GET', `${PROJECT_URL}/status`, undefined, bearer(`${key.token.slice(0, -3)}abc`));
  await testServer.request('GET', `/api/tenants/other/projects/${key.token}/status`, undefined, adminHeaders);
  await testServer.request('GET', `/${key.token}`, undefined, adminHeaders);
  const times = { time: expect.stringMatching(/Z$/), duration_ms: expect.any(Number) };
  const commonFields = { level: 'info', ...times, request_id: null };
  const callerFields = { key: `key-${key.key_id}`, user: 'alice', tenant: 'acme' };
  expect(lines).toEqual([
    {
      ...commonFields,
      ...callerFields,
      route: 'claim_task',
      subject: TASK,
      status: 200,
      code: 'GRANTED',
      request_id: 'r1',
    },
    { ...commonFields, ...callerFields, route: 'note', subject: TASK, status: 200, code: 'NOTED' },
    {
      ...commonFields,
      ...callerFields,
      key: null,
      user: null,
      route: 'status',
      subject: null,
      status: 401,
      code: 'UNAUTHENTICATED',
    },
    {
      ...commonFields,
      ...callerFields,
      tenant: 'other',
      route: 'status',
      subject: null,
      status: 404,
      code: 'NOT_FOUND',
    },
    {
      ...commonFields,
      key: null,
      user: null,
      tenant: null,
      route: null,
      subject: null,
      status: 404,
      code: 'NOT_FOUND',
    },
  ]);
  expect(JSON.stringify(lines)).not.toMatch(/gck_|clm_|private/);
});

test('forbids unsigned commands, and accepts signed ones, when the tenant requires signatures', async () => {
  const { testServer, adminHeaders } = await openWithKeys();
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const limits = await testServer.request(
    'PUT',
    `${TENANT_URL}/limits`,
    { require_signatures: true },
    adminHeaders,
  );
  expect(limits.body.require_signatures).toBe(true);
  const session = { session_id: 's1', user_id: 'alice', project_id: 'shop' };
  await testServer.request(
    'POST',
    `${TENANT_URL}/sessions`,
    { ...session, public_key: publicKeyText(publicKey) },
    adminHeaders,
  );
  const body = { task_id: TASK, agent_id: 'alpha', session_id: 's1', request_id: 'r1' };
  const unsigned = await testServer.request('POST', `${PROJECT_URL}/claims`, body, adminHeaders);
  expect([unsigned.status, unsigned.body.code]).toEqual([403, 'SIGNATURE_REQUIRED']);
  const projectKey = { tenant_id: 'acme', project_id: 'shop' };
  const signature = signCommand({ ...projectKey, command: 'claim_task', body }, privateKey);
  const altered = await testServer.request(
    'POST',
    `${PROJECT_URL}/claims`,
    { ...body, agent_id: 'beta', signature },
    adminHeaders,
  );
  expect([altered.status, altered.body.code]).toEqual([403, 'SIGNATURE_INVALID']);
  const signed = await testServer.request(
    'POST',
    `${PROJECT_URL}/claims`,
    { ...body, signature },
    adminHeaders,
  );
  expect(signed.body.reason).toBe('GRANTED');
});

test('the first key ends open mode, and its reply warns if it cannot create further keys', async () => {
  const testServer = await TestServer.forTest();
  await testServer.putPlan('A-001-x');
  const created = await testServer.post(`${TENANT_URL}/keys`, { role: 'agent' });
  expect(created.status).toBe(201);
  expect(created.body.next).toMatch(/cannot create keys/);
  expect(testServer.running.isInOpenMode).toBe(false);
  await testServer.restart();
  expect(testServer.running.isInOpenMode).toBe(false);
  expect((await testServer.get(`${PROJECT_URL}/status`)).status).toBe(401);
  expect(
    (await testServer.request('GET', `${PROJECT_URL}/status`, undefined, bearer(created.body.token))).status,
  ).toBe(200);
});

test('does not start on a network address without authentication', async () => {
  const opened = await openStoreUrl('memory:', () => {});
  const started = startServer({ ...opened, host: '0.0.0.0', port: 0 });
  await expect(started).rejects.toThrow(/without authentication/);
});
