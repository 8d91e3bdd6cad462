import { test } from 'vitest';
import { PROJECT_URL, TestServer } from '../../src/server/testing/test-server.js';
import { describeInBrowser, viewUrl } from './support/open-page.js';

const PLAN = {
  tracks: {
    A: [{ id: 'A-001-late', description: 'is taken over' }],
    B: [
      { id: 'B-001-held', description: 'is claimed' },
      { id: 'B-002-waiting', description: 'waits', depends_on: ['B-001-held'] },
    ],
  },
};

/** A task that was taken over and whose late result is parked, a claimed task, and a task that depends on the claimed one. */
async function startWithWork(): Promise<TestServer> {
  const testServer = await TestServer.forTest();
  await testServer.request('PUT', `${PROJECT_URL}/plan`, PLAN);
  const late = await testServer.claim('A-001-late', 's1', { agent_id: 'ada' });
  await testServer.claim('B-001-held', 's2', { agent_id: 'ben' });
  const release = { expected_generation: 1, reason: 'gone' };
  await testServer.post(`${PROJECT_URL}/tasks/A-001-late/force_release`, release);
  await testServer.claim('A-001-late', 's3', { agent_id: 'cleo' });
  await testServer.post(`${PROJECT_URL}/results`, { ...late, result_data: 'late but good' });
  return testServer;
}

await describeInBrowser('a newcomer with only the address', (open) => {
  test('finds the oldest claim, why a task is not claimable and what was refused, and adopts the result', async () => {
    const testServer = await startWithWork();
    const page = await open(`${testServer.url}/?tenant=acme`);

    await page.getByText(/^Oldest claim: B-001-held, held by ben for /).waitFor();
    const refused = page.getByRole('log', { name: 'What happened' }).getByRole('listitem');
    await refused
      .filter({
        hasText: /result of ada for A-001-late was refused .* generation 1, and generation 2 is current/,
      })
      .waitFor();

    await page.getByRole('link', { name: '1 blocked' }).click();
    const row = page.getByRole('row').filter({ hasText: 'B-002-waiting' });
    await row.getByRole('cell', { name: 'B-001-held' }).waitFor();
    await row.getByRole('link').click();
    await page
      .getByRole('region', { name: 'Can it be claimed?' })
      .getByRole('link', { name: 'B-001-held' })
      .first()
      .waitFor();

    await page.getByRole('link', { name: 'Fleet', exact: true }).click();
    await page.getByRole('link', { name: '1 parked result' }).click();
    const card = page.getByRole('article', { name: /Parked result/ });
    await card.getByText('STALE_GENERATION').waitFor();
    await card.getByRole('button', { name: /^Adopt/ }).click();
    await page.getByRole('dialog').getByLabel('Reason').fill('It is complete.');
    await page.getByRole('dialog').getByRole('button', { name: 'Adopt' }).click();
    await card.waitFor({ state: 'detached' });
    await page.goto(viewUrl(testServer.url, 'task/A-001-late'));
    await page.getByRole('region', { name: 'Result', exact: true }).getByText('late but good').waitFor();
  });
});
