import { expect, test } from 'vitest';
import { TestServer } from '../../src/server/testing/test-server.js';
import { expectAccessible } from './support/accessible.js';
import { describeInBrowser } from './support/open-page.js';

const PROJECT = '/api/tenants/default/projects/shop';
const A = 'REQ-F-A-001';
const project_id = 'shop';
const featuresUrl = (served: TestServer, query = '') => `${served.url}/?project=shop#/features${query}`;

/** Two features; one is worked on by an agent, and has spawned a spike. */
async function workspace(): Promise<TestServer> {
  const served = await TestServer.forTest();
  const files = { '../specification/INTENT.md': '# Sign in\n\nPeople sign in with a key.\n' };
  await served.post('/api/init', { project_id, files });
  const feature = { project_id, vector_type: 'feature', reason: 'why' };
  await served.post('/api/spawn', { ...feature, feature_id: A, title: 'Sign in' });
  await served.post('/api/spawn', {
    ...feature,
    feature_id: 'REQ-F-B-001',
    title: '<script>alert(1)</script>',
  });
  const spike = {
    project_id,
    vector_type: 'spike',
    parent: A,
    edge: 'intent_requirements',
    reason: 'which way',
  };
  expect((await served.post('/api/spawn', { ...spike, agent_id: 'ada' })).status).toBe(200);
  return served;
}

const claimEdge = (served: TestServer) =>
  served.post(`${PROJECT}/claims`, {
    feature_id: 'REQ-F-B-001',
    edge: 'intent_requirements',
    agent_id: 'ada',
    session_id: 's1',
  });

await describeInBrowser('the features', (open) => {
  test('are a matrix of features and edges that follows the work, and leads to the edge', async () => {
    const served = await workspace();
    const page = await open(featuresUrl(served));
    const matrix = page.getByRole('region', { name: 'Features by edge' });
    const cell = matrix.getByRole('link', { name: 'REQ-F-B-001 intent_requirements: pending' });
    await cell.waitFor();
    await page.getByText('No agent holds an edge.').waitFor();
    await page.getByRole('status').getByText('live', { exact: true }).waitFor();
    expect((await claimEdge(served)).body.success).toBe(true);
    await page.getByText('works on').waitFor();
    const working = matrix.getByRole('link', { name: /REQ-F-B-001 intent_requirements: iterating/ });
    await working.click();
    expect(page.url()).toContain('#/task/REQ-F-B-001%23intent_requirements');
  });

  test('are on the fleet view too, with the oldest claim', async () => {
    const served = await workspace();
    await claimEdge(served);
    const page = await open(`${served.url}/?project=shop`);
    const progress = page.getByRole('region', { name: 'Features' });
    await progress
      .getByRole('progressbar', { name: /Feature REQ-F-B-001: 0 of \d+ edges converged/ })
      .waitFor();
    await page.getByText(/^0 of \d+ edges converged$/).waitFor();
    await page.getByText('Oldest claim:').waitFor();
    await progress.getByRole('link', { name: 'REQ-F-B-001' }).click();
    expect(page.url()).toContain('#/features?feature=REQ-F-B-001');
  });

  test('show what was spawned, what comes next, and what is not covered', async () => {
    const served = await workspace();
    const page = await open(featuresUrl(served, `?feature=${A}`));
    const chosen = page.getByRole('region', { name: 'Chosen feature' });
    await chosen.getByText('spike on intent_requirements, not folded back').waitFor();
    await page.getByRole('region', { name: 'Gaps' }).getByText('gen gaps').waitFor();
    await page.getByRole('region', { name: 'You are here' }).getByText('Next:').waitFor();
    await chosen.getByRole('button', { name: /SPIKE/ }).click();
    await chosen.getByText('Spawned by').waitFor();
    expect(page.url()).toContain('feature=REQ-F-SPIKE-001');
  });

  test('say how to begin in a project that is not a workspace', async () => {
    const served = await TestServer.forTest();
    await served.request('PUT', `${PROJECT}/plan`, { tracks: {} });
    const page = await open(featuresUrl(served));
    await page.getByText('This project has no methodology').waitFor();
    await page.getByText('gen init').waitFor();
  });

  for (const theme of ['light', 'dark'] as const)
    test(`are readable in the ${theme} theme, also at the width of a phone`, async () => {
      const served = await workspace();
      await claimEdge(served);
      const page = await open(featuresUrl(served, '?feature=REQ-F-B-001'), { width: 380, theme });
      await page.getByRole('heading', { name: 'Timeline', exact: true }).waitFor();
      await page.getByText('works on').waitFor();
      await expectAccessible(page);
      await page.setViewportSize({ width: 1280, height: 900 });
      await expectAccessible(page);
    });
});
