import { expect, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import {
  CoordinatorHarness,
  PROJECT_KEY,
  planOf,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import { coordinationConfig, FILES } from '../../../test/support/workspace-files.js';
import { Metrics } from './metrics.js';

const [A, B] = ['A-001-core', 'B-001-data'] as const;
const PROJECT_LABELS = 'tenant="acme",project="shop"';

/** The samples by name and labels. */
async function readSamples(metrics: Metrics): Promise<Map<string, string>> {
  const lines = (await metrics.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), line.slice(line.lastIndexOf(' ') + 1)]),
  );
}

async function openWithMetrics() {
  const metrics = new Metrics();
  const harness = await CoordinatorHarness.open('memory', {
    observer: metrics,
    limits: { min_lease_duration_seconds: 1 },
  });
  metrics.setGaugeSources({
    projectCounts: () => harness.coordinator.projectCounts(),
    feedLag: () => 3,
    connections: () => 5,
    listeners: () => 2,
    damage: () => [],
    lostLogLines: () => 3,
    auditAlarms: () => [],
    undeliveredCheckpoints: () => 0,
  });
  await harness.plan(planOf(A, B));
  return {
    metrics,
    harness,
    alpha: new HarnessAgent(harness, 'alpha', 's1'),
    beta: new HarnessAgent(harness, 'beta', 's2'),
  };
}

// req: MET-001, MET-002, MET-003, MET-005, MET-010
test('counts every reply, including the refusals that the log keeps only once', async () => {
  const { metrics, alpha, beta } = await openWithMetrics();
  await alpha.claim(A);
  await beta.claim(A);
  await beta.claim(A);
  await alpha.renew(A);
  await alpha.renew(A, { expected_generation: 7 });
  await alpha.submit(A);
  await beta.claim(A);
  await beta.claim('A-999-nowhere');
  const values = await readSamples(metrics);
  expect(values.get(`coditect_claims_total{${PROJECT_LABELS},result="granted"}`)).toBe('1');
  expect(values.get(`coditect_claims_total{${PROJECT_LABELS},result="denied_active"}`)).toBe('2');
  expect(values.get(`coditect_claims_total{${PROJECT_LABELS},result="denied_completed"}`)).toBe('1');
  expect(values.get(`coditect_claims_total{${PROJECT_LABELS},result="unknown_task"}`)).toBe('1');
  expect(values.get(`coditect_results_total{${PROJECT_LABELS},result="accepted"}`)).toBe('1');
  expect(values.get(`coditect_lease_renewals_total{${PROJECT_LABELS},result="renewed"}`)).toBe('1');
  expect(values.get(`coditect_lease_renewals_total{${PROJECT_LABELS},result="failed"}`)).toBe('1');
  expect(values.get(`coditect_generation_increments_total{${PROJECT_LABELS}}`)).toBe('1');
});

// req: MET-006
test('reports live claims, pending tasks and completed tasks', async () => {
  const { metrics, harness, alpha } = await openWithMetrics();
  await alpha.claim(A, { lease_duration_seconds: 5 });
  let values = await readSamples(metrics);
  expect(values.get(`coditect_active_claims{${PROJECT_LABELS}}`)).toBe('1');
  expect(values.get(`coditect_pending_tasks{${PROJECT_LABELS}}`)).toBe('2');
  harness.advance(10);
  values = await readSamples(metrics);
  expect(values.get(`coditect_active_claims{${PROJECT_LABELS}}`)).toBe('0');
  await alpha.submit(A);
  values = await readSamples(metrics);
  expect(values.get(`coditect_pending_tasks{${PROJECT_LABELS}}`)).toBe('1');
  expect(values.get(`coditect_completed_tasks{${PROJECT_LABELS}}`)).toBe('1');
  expect(values.get('coditect_feed_lag_events')).toBe('3');
  expect(values.get('coditect_feed_listeners')).toBe('2');
});

// req: MET-006
test('counts edges as work', async () => {
  const { metrics, harness, alpha } = await openWithMetrics();
  const before = await readSamples(metrics);
  const intent = { '../specification/INTENT.md': '# Sign in\n\nPeople sign in.\n' };
  const files = { ...FILES, ...intent, 'coordination.yml': coordinationConfig({}) };
  unwrap(await harness.coordinator.settings.configure(PROJECT_KEY, { files }));
  const configured = await readSamples(metrics);
  const sampleOf = (values: Map<string, string>, name: string) =>
    Number(values.get(`coditect_${name}{${PROJECT_LABELS}}`));
  const edges = sampleOf(configured, 'pending_tasks') - sampleOf(before, 'pending_tasks');
  expect(edges).toBeGreaterThan(1);
  expect(sampleOf(configured, 'ready_tasks')).toBeGreaterThan(sampleOf(before, 'ready_tasks'));
  expect(await alpha.next({ kinds: ['edge'] })).toMatchObject({ reason: 'GRANTED' });
  const claimed = await readSamples(metrics);
  expect(sampleOf(claimed, 'active_claims')).toBe(1);
  expect(sampleOf(claimed, 'ready_tasks')).toBeLessThan(sampleOf(configured, 'ready_tasks'));
  expect(sampleOf(claimed, 'pending_tasks')).toBe(sampleOf(configured, 'pending_tasks'));
  await alpha.claim(A);
  expect(sampleOf(await readSamples(metrics), 'active_claims')).toBe(2);
});

// req: MET-004, MET-007, MET-008, MET-009
test('measures claims, tasks from their first grant, and the generations per task', async () => {
  const { metrics, harness, alpha, beta } = await openWithMetrics();
  await alpha.claim(A, { lease_duration_seconds: 5 });
  harness.advance(20);
  await beta.claim(A, { lease_duration_seconds: 100 });
  harness.advance(50);
  await beta.submit(A);
  const values = await readSamples(metrics);
  const sampleOf = (name: string, le: string) =>
    values.get(`coditect_${name}_bucket{le="${le}",${PROJECT_LABELS}}`);
  expect(values.get(`coditect_lease_expirations_total{${PROJECT_LABELS}}`)).toBe('1');
  expect([sampleOf('claim_duration_seconds', '15'), sampleOf('claim_duration_seconds', '60')]).toEqual([
    '0',
    '1',
  ]);
  expect([
    sampleOf('task_completion_time_seconds', '60'),
    sampleOf('task_completion_time_seconds', '300'),
  ]).toEqual(['0', '1']);
  expect([sampleOf('generations_per_task', '1'), sampleOf('generations_per_task', '2')]).toEqual(['0', '1']);
  expect(Number(values.get('coditect_store_commit_seconds_count'))).toBeGreaterThan(0);
  expect(Number(values.get('coditect_batch_units_count'))).toBeGreaterThan(0);
});

test('labels a hundred projects individually, and all others together', async () => {
  const metrics = new Metrics('x_');
  for (let index = 0; index < 150; index += 1) {
    metrics.answered({ tenant_id: 't', project_id: `p${index}` }, 'claim', { reason: 'GRANTED' });
  }
  const counted = [...(await readSamples(metrics))].filter(([name]) => name.startsWith('x_claims_total'));
  expect(counted).toHaveLength(101);
  expect(new Map(counted).get('x_claims_total{tenant="other",project="other",result="granted"}')).toBe('50');
});
