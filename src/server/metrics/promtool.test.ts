import { spawnSync } from 'node:child_process';
import { expect, onTestFinished, test } from 'vitest';
import { onProgram } from '../../stores/testing/on-database.js';
import { findInstalledProgram } from '../../stores/testing/program.js';
import { EventStreamClient } from '../testing/event-stream-client.js';
import { PROJECT_URL, TestServer } from '../testing/test-server.js';

const [A, B] = ['A-001-core', 'B-001-data'] as const;

const runPromtool = (args: string[], input = '') => spawnSync('promtool', args, { input, encoding: 'utf8' });
const MISSING =
  findInstalledProgram('promtool') === null ? 'promtool is not installed (npm run engines:install)' : null;

/** A server with activity: grants, refusals, renewals, an expiry, accepted and refused results, and a stream. */
async function serveWithWork(): Promise<TestServer> {
  const harness = await TestServer.forTest({ limits: { min_lease_duration_seconds: 1 } });
  await harness.plan(A, B);
  const listener = EventStreamClient.open(harness.running.port, `${PROJECT_URL}/events/stream`);
  onTestFinished(() => listener.disconnect());

  const late = await harness.claim(A, 's1', { lease_duration_seconds: 1 });
  await harness.post(`${PROJECT_URL}/claims`, { task_id: A, agent_id: 'beta', session_id: 's2' });
  await harness.claim(B, 's3');
  const taken = await harness.post(`${PROJECT_URL}/next`, {
    agent_id: 'beta',
    session_id: 's2',
    wait_seconds: 30,
  });
  const { id, generation } = taken.body.claim;
  const held = { task_id: A, session_id: 's2', claim_id: id };
  await harness.post(`${PROJECT_URL}/claims/renew`, { ...held, expected_generation: generation });
  await harness.post(`${PROJECT_URL}/claims/renew`, { ...held, expected_generation: generation + 5 });
  await harness.post(`${PROJECT_URL}/results`, { ...late, result_data: { too: 'late' } });
  await harness.post(`${PROJECT_URL}/results`, { ...held, generation, result_data: { made: 'it' } });
  await listener.waitUntil(() => listener.positions.length > 0);
  return harness;
}

await onProgram('promtool', MISSING, () => {
  test('promtool reports no problems', async () => {
    const { body: text } = await (await serveWithWork()).get('/metrics');
    const own = 'tenant="acme",project="shop"';
    for (const sample of [
      `coditect_claims_total{${own},result="granted"} 3`,
      `coditect_claims_total{${own},result="denied_active"} 1`,
      `coditect_results_total{${own},result="accepted"} 1`,
      `coditect_results_total{${own},result="stale_generation"} 1`,
      `coditect_lease_renewals_total{${own},result="failed"} 1`,
      `coditect_lease_expirations_total{${own}} 1`,
      'coditect_feed_listeners 1',
    ]) {
      expect(text).toContain(sample);
    }
    const { status, stdout, stderr } = runPromtool(['check', 'metrics'], text);
    expect(stdout + stderr).toBe('');
    expect(status).toBe(0);
  });
});
