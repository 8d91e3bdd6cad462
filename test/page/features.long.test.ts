import { expect, test } from 'vitest';
import { TestServer } from '../../src/server/testing/test-server.js';
import { expectAccessible } from './support/accessible.js';
import { describeInBrowser } from './support/open-page.js';

const PROJECT = '/api/tenants/default/projects/shop';
const A = 'REQ-F-A-001';
const project_id = 'shop';
const featuresUrl = (testServer: TestServer, query = '') =>
  `${testServer.url}/?project=shop#/features${query}`;

/** Two features; one is worked on by an agent, and has spawned a spike. */
async function openWorkspace(): Promise<TestServer> {
  const testServer = await TestServer.forTest();
  const files = { '../specification/INTENT.md': '# Sign in\n\nPeople sign in with a key.\n' };
  await testServer.post('/api/init', { project_id, files });
  const feature = { project_id, vector_type: 'feature', reason: 'why' };
  await testServer.post('/api/spawn', { ...feature, feature_id: A, title: 'Sign in' });
  await testServer.post('/api/spawn', {
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
  expect((await testServer.post('/api/spawn', { ...spike, agent_id: 'ada' })).status).toBe(200);
  return testServer;
}

const claimEdge = (testServer: TestServer) =>
  testServer.post(`${PROJECT}/claims`, {
    feature_id: 'REQ-F-B-001',
    edge: 'intent_requirements',
    agent_id: 'ada',
    session_id: 's1',
  });

await describeInBrowser('the features', (open) => {
  test('are a matrix of features and edges that follows the work, and leads to the edge', async () => {
    const testServer = await openWorkspace();
    const page = await open(featuresUrl(testServer));
    const matrix = page.getByRole('region', { name: 'Features by edge' });
    const cell = matrix.getByRole('link', { name: 'REQ-F-B-001 intent_requirements: pending' });
    await cell.waitFor();
    await page.getByText('No agent holds an edge.').waitFor();
    await page.getByRole('status').getByText('live', { exact: true }).waitFor();
    expect((await claimEdge(testServer)).body.success).toBe(true);
    await page.getByText('works on').waitFor();
    const working = matrix.getByRole('link', { name: /REQ-F-B-001 intent_requirements: iterating/ });
    await working.click();
    expect(page.url()).toContain('#/task/REQ-F-B-001%23intent_requirements');
  });

  test('are on the fleet view too, with the oldest claim', async () => {
    const testServer = await openWorkspace();
    await claimEdge(testServer);
    const page = await open(`${testServer.url}/?project=shop`);
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
    const testServer = await openWorkspace();
    const page = await open(featuresUrl(testServer, `?feature=${A}`));
    const chosen = page.getByRole('region', { name: 'Chosen feature' });
    await chosen.getByText('spike on intent_requirements, not folded back').waitFor();
    await page.getByRole('region', { name: 'Gaps' }).getByText('gen gaps').waitFor();
    await page.getByRole('region', { name: 'You are here' }).getByText('Next:').waitFor();
    await chosen.getByRole('button', { name: /SPIKE/ }).click();
    await chosen.getByText('Spawned by').waitFor();
    expect(page.url()).toContain('feature=REQ-F-SPIKE-001');
  });

  test('say how to begin in a project that is not a workspace', async () => {
    const testServer = await TestServer.forTest();
    await testServer.request('PUT', `${PROJECT}/plan`, { tracks: {} });
    const page = await open(featuresUrl(testServer));
    await page.getByText('This project has no methodology').waitFor();
    await page.getByText('gen init').waitFor();
  });

  for (const theme of ['light', 'dark'] as const)
    test(`are readable in the ${theme} theme, also at the width of a phone`, async () => {
      const testServer = await openWorkspace();
      await claimEdge(testServer);
      const page = await open(featuresUrl(testServer, '?feature=REQ-F-B-001'), { width: 380, theme });
      await page.getByRole('heading', { name: 'Timeline', exact: true }).waitFor();
      await page.getByText('works on').waitFor();
      await expectAccessible(page);
      await page.setViewportSize({ width: 1280, height: 900 });
      await expectAccessible(page);
    });
});
