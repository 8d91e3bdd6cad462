import { expect, it, onTestFinished } from 'vitest';
import { Genesis } from '../client/index.js';
import { DEFAULT_LIMITS, ENTERPRISE_LIMITS } from '../core/claims/policy.js';
import { openMemoryStore } from '../stores/memory/memory-store.js';
import { startServer } from './server.js';

const PLAN = {
  project: 'shop',
  tracks: { A: ['A-001-core', 'A-002-more'].map((id) => ({ id, description: 'x', depends_on: [] })) },
};
const CLAIM = { agent_id: 'a', lease_duration_seconds: 7200 };

// req: LIM-001, LIM-002
it('a server in open mode has the enterprise limits until the first key, and then the default limits without a restart', async () => {
  const server = await startServer({
    store: openMemoryStore(),
    port: 0,
    limits: { min_lease_duration_seconds: 5 },
  });
  onTestFinished(() => server.stop());
  const openClient = new Genesis({ url: server.url, tenant: 'acme', project: 'shop' });
  await openClient.putPlan(PLAN);
  expect(await openClient.limits()).toEqual({ ...ENTERPRISE_LIMITS, min_lease_duration_seconds: 5 });
  // A limit that was set stays; the others follow the defaults.
  await openClient.putLimits({ max_active_sessions: 7 });
  const first = { ...CLAIM, task_id: 'A-001-core', session_id: 's1' };
  expect(await openClient.claimTask(first)).toMatchObject({ reason: 'GRANTED' });
  const key = await openClient.createKey({ role: 'admin' });
  if (!('token' in key) || key.token === null) throw new Error('no key');
  const keyClient = new Genesis({ url: server.url, tenant: 'acme', project: 'shop', token: key.token });
  expect(await keyClient.limits()).toEqual({
    ...DEFAULT_LIMITS,
    min_lease_duration_seconds: 5,
    max_active_sessions: 7,
  });
  const second = { ...CLAIM, task_id: 'A-002-more', session_id: 's2' };
  expect(await keyClient.claimTask(second)).toMatchObject({
    code: 'INVALID_LEASE',
    detail: expect.stringContaining('max_lease_duration_seconds is 3600'),
  });
  expect(await keyClient.claimTask({ ...second, lease_duration_seconds: 3600 })).toMatchObject({
    reason: 'GRANTED',
  });
});
