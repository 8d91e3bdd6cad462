import { spawnSync } from 'node:child_process';
import { expect, onTestFinished, test } from 'vitest';
import { onProgram } from '../../stores/testing/on-database.js';
import { findInstalledProgram } from '../../stores/testing/program.js';
import { EventStreamClient } from '../testing/event-stream-client.js';
import { PROJECT_URL, TestServer } from '../testing/test-server.js';

const [A, B] = ['A-001-core', 'B-001-data'] as const;

const runPromtool = (args: string[], input = '') => spawnSync('promtool', args, { input, encoding: 'utf8' });
const SKIP_TEXT =
  findInstalledProgram('promtool') === null ? 'promtool is not installed (npm run engines:install)' : null;

/** A server with activity: grants, refusals, renewals, an expiry, accepted and refused results, and a stream. */
async function serveWithWork(): Promise<TestServer> {
  const testServer = await TestServer.forTest({ limits: { min_lease_duration_seconds: 1 } });
  await testServer.putPlan(A, B);
  const stream = EventStreamClient.open(testServer.running.port, `${PROJECT_URL}/events/stream`);
  onTestFinished(() => stream.disconnect());

  const lapsedHandle = await testServer.claim(A, 's1', { lease_duration_seconds: 1 });
  await testServer.post(`${PROJECT_URL}/claims`, { task_id: A, agent_id: 'beta', session_id: 's2' });
  await testServer.claim(B, 's3');
  const granted = await testServer.post(`${PROJECT_URL}/next`, {
    agent_id: 'beta',
    session_id: 's2',
    wait_seconds: 30,
  });
  const { id, generation } = granted.body.claim;
  const handle = { task_id: A, session_id: 's2', claim_id: id };
  await testServer.post(`${PROJECT_URL}/claims/renew`, { ...handle, expected_generation: generation });
  await testServer.post(`${PROJECT_URL}/claims/renew`, { ...handle, expected_generation: generation + 5 });
  await testServer.post(`${PROJECT_URL}/results`, { ...lapsedHandle, result_data: { too: 'late' } });
  await testServer.post(`${PROJECT_URL}/results`, { ...handle, generation, result_data: { made: 'it' } });
  await stream.waitUntil(() => stream.positions.length > 0);
  return testServer;
}

await onProgram('promtool', SKIP_TEXT, () => {
  test('promtool reports no problems', async () => {
    const { body: text } = await (await serveWithWork()).get('/metrics');
    const labels = 'tenant="acme",project="shop"';
    for (const sample of [
      `coditect_claims_total{${labels},result="granted"} 3`,
      `coditect_claims_total{${labels},result="denied_active"} 1`,
      `coditect_results_total{${labels},result="accepted"} 1`,
      `coditect_results_total{${labels},result="stale_generation"} 1`,
      `coditect_lease_renewals_total{${labels},result="failed"} 1`,
      `coditect_lease_expirations_total{${labels}} 1`,
      'coditect_feed_listeners 1',
    ]) {
      expect(text).toContain(sample);
    }
    const { status, stdout, stderr } = runPromtool(['check', 'metrics'], text);
    expect(stdout + stderr).toBe('');
    expect(status).toBe(0);
  });
});
