import { expect, test } from 'vitest';
import { PROJECT_KEY, unwrap } from '../../../test/support/coordinator-harness.js';
import { F, foreignLine, openImported } from '../../../test/support/imported-project.js';

const AGENT = { agent_id: 'ada', session_id: 's-ada' } as const;
/** Reports convergence on the first edge of the feature and on one outside its profile. */
const LOG = [
  foreignLine('edge_started', 'intent→requirements'),
  foreignLine('edge_converged', 'intent→requirements'),
  foreignLine('edge_converged', 'code→cicd'),
];

test('an edge that converged according to an imported log is shown, also outside the feature’s profile', async () => {
  const { coordinator } = await openImported(LOG);
  const status = unwrap(await coordinator.methodology.status(PROJECT_KEY));
  expect(status.features).toMatchObject([
    { id: F, edges_converged: 1, edges_total: 2, off_profile: ['code_cicd'] },
  ]);
});

test('next and start skip an edge that converged according to an imported log', async () => {
  const { coordinator } = await openImported(LOG);
  expect(unwrap(await coordinator.methodology.start(PROJECT_KEY, { agent_id: 'ada' }))).toMatchObject({
    feature: F,
    edge: 'design_code',
  });
  const next = unwrap(await coordinator.claims.next(PROJECT_KEY, { ...AGENT, kinds: ['edge'] }));
  expect(next).toMatchObject({ reason: 'GRANTED', claim: { task_id: `${F}#design_code` } });
});

test('a claim of an edge that converged according to an imported log is granted with a warning', async () => {
  const { coordinator } = await openImported(LOG);
  const claim = (edge: string) =>
    coordinator.claims.claimTask(PROJECT_KEY, { feature_id: F, edge, agent_role: 'architect', ...AGENT });
  const granted = unwrap(await claim('intent→requirements'));
  expect(granted).toMatchObject({
    reason: 'GRANTED',
    warnings: [expect.stringContaining('An imported log says that intent_requirements')],
  });
  const other = unwrap(await claim('design→code'));
  expect(JSON.stringify(other)).not.toContain('imported log');
});
