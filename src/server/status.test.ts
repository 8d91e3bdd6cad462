import { expect, test } from 'vitest';
import { DEFAULT_LIMITS } from '../core/claims/policy.js';
import { PROJECT_URL, TestServer } from './testing/test-server.js';

const claimFields = (task_id: string, more = {}) => ({
  task_id,
  agent_id: 'alpha',
  session_id: 's1',
  ...more,
});

test('a refusal has its result as the body, and a status that depends on its reason', async () => {
  const limits = { ...DEFAULT_LIMITS, max_concurrent_claims: 1, max_result_size_bytes: 10 };
  const testServer = await TestServer.forTest({ limits });
  await testServer.putPlan('A-001-x', 'A-002-x');
  const unknown = await testServer.post(`${PROJECT_URL}/claims`, claimFields('Q-001-none'));
  expect(unknown).toMatchObject({
    status: 404,
    body: { success: false, reason: 'UNKNOWN_TASK', claim: null },
  });
  const handle = await testServer.claim('A-001-x');
  const taken = await testServer.post(`${PROJECT_URL}/claims`, claimFields('A-001-x', { session_id: 's2' }));
  expect(taken).toMatchObject({
    status: 409,
    body: { reason: 'DENIED_ACTIVE_CLAIM', current_holder: 'alpha' },
  });
  const full = await testServer.post(`${PROJECT_URL}/claims`, claimFields('A-002-x'));
  expect(full).toMatchObject({
    status: 429,
    body: { reason: 'DENIED_LIMIT', limit: 'max_concurrent_claims' },
  });
  expect(Number(full.headers.get('retry-after'))).toBeGreaterThan(0);
  const large = await testServer.post(`${PROJECT_URL}/results`, { ...handle, result_data: 'x'.repeat(100) });
  expect(large).toMatchObject({ status: 413, body: { accepted: false, reason: 'RESULT_TOO_LARGE' } });
  const future = await testServer.post(`${PROJECT_URL}/results`, {
    ...handle,
    generation: 9,
    result_data: 1,
  });
  expect(future).toMatchObject({ status: 409, body: { reason: 'FUTURE_GENERATION' } });
});

test('a problem has a code, and repeats the id of its request', async () => {
  const testServer = await TestServer.forTest();
  await testServer.putPlan('A-001-x', 'A-002-x');
  const request = claimFields('A-001-x', { request_id: 'r1' });
  const granted = await testServer.post(`${PROJECT_URL}/claims`, request);
  const again = await testServer.post(`${PROJECT_URL}/claims`, request);
  expect([again.status, again.body]).toEqual([200, granted.body]);
  const other = await testServer.post(`${PROJECT_URL}/claims`, { ...request, task_id: 'A-002-x' });
  expect(other).toMatchObject({ status: 409, body: { code: 'IDEMPOTENCY_CONFLICT', request_id: 'r1' } });
  expect(other.headers.get('content-type')).toBe('application/problem+json');
  const lease = await testServer.post(
    `${PROJECT_URL}/claims`,
    claimFields('A-002-x', { lease_duration_seconds: 1 }),
  );
  expect(lease).toMatchObject({ status: 400, body: { code: 'INVALID_LEASE' } });
  const gone = await testServer.get(`${PROJECT_URL}/tasks/Q-001-none`);
  expect(gone).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
});
