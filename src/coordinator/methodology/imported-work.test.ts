import { expect, test } from 'vitest';
import { CoordinatorHarness, P, unwrap } from '../../../test/support/coordinator-harness.js';
import { importForeign } from '../transfer/import-foreign.js';
import { commitImported } from '../transfer/imported-events.js';

const F = 'REQ-F-AUTH-001';
const AGENT = { agent_id: 'ada', session_id: 's-ada' } as const;
const line = (event_type: string, edge: string) =>
  JSON.stringify({ event_type, timestamp: '2025-12-01T10:00:00Z', project: 'old', feature: F, edge });
const LOG = [
  line('edge_started', 'intent→requirements'),
  line('edge_converged', 'intent→requirements'),
  line('edge_converged', 'code→cicd'),
].join('\n');

/** A project with one feature, on whose first edge and on one outside its profile a log reports convergence. */
async function openImported(): Promise<CoordinatorHarness> {
  const harness = await CoordinatorHarness.open('memory');
  const files = {
    [`features/active/${F}.yml`]: `feature: ${F}\ntitle: Sign in\nprofile: minimal\n`,
    'profiles/minimal.yml': 'graph: { include: [intent→requirements, design→code] }\n',
    '../specification/INTENT.md': '# Sign in\n\nPeople sign in.\n',
    'context/project_constraints.yml':
      'constraint_dimensions: { ecosystem_compatibility: a, deployment_target: b, security_model: c, build_system: d }\n',
  };
  unwrap(await harness.coordinator.settings.configure(P, { files }));
  async function* bytes() {
    yield Buffer.from(LOG);
  }
  const target = {
    put: (events: Parameters<typeof commitImported>[2]) => commitImported(harness.store, P, events),
    putBlob: async () => {},
  };
  const options = { ...P, source: 'old.jsonl', now_ms: Date.parse('2026-01-01'), known_edges: null };
  await importForeign(bytes(), target, options);
  return harness;
}

test('what an imported log says has converged is shown, also off the profile of the feature', async () => {
  const { coordinator } = await openImported();
  const status = unwrap(await coordinator.methodology.status(P));
  expect(status.features).toMatchObject([
    { id: F, edges_converged: 1, edges_total: 2, off_profile: ['code_cicd'] },
  ]);
});

test('next and start skip what an imported log says has converged', async () => {
  const { coordinator } = await openImported();
  expect(unwrap(await coordinator.methodology.start(P, { agent_id: 'ada' }))).toMatchObject({
    feature: F,
    edge: 'design_code',
  });
  const next = unwrap(await coordinator.next(P, { ...AGENT, kinds: ['edge'] }));
  expect(next).toMatchObject({ reason: 'GRANTED', claim: { task_id: `${F}#design_code` } });
});

test('a claim of what an imported log says has converged is granted with a warning', async () => {
  const { coordinator } = await openImported();
  const claim = (edge: string) => coordinator.claimTask(P, { feature_id: F, edge, ...AGENT });
  const granted = unwrap(await claim('intent→requirements'));
  expect(granted).toMatchObject({
    reason: 'GRANTED',
    warnings: [expect.stringContaining('An imported log says that intent_requirements')],
  });
  const other = unwrap(await claim('design→code'));
  expect(JSON.stringify(other)).not.toContain('imported log');
});
