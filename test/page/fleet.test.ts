import { expect, test } from 'vitest';
import { PROJECT_URL, TestServer } from '../../src/server/testing/test-server.js';
import { expectAccessible } from './support/accessible.js';
import { HOSTILE_DESCRIPTION, HOSTILE_INSTRUCTIONS } from './support/hostile-text.js';
import { describeInBrowser, viewUrl } from './support/open-page.js';

const REASSIGNMENT = { reason: 'too slow', expected_generation: 1 };

/** Claims a task for ada, and reassigns it to bob while ada still works on it. Returns ada's handle. */
async function claimAndReassign(testServer: TestServer) {
  const handle = await testServer.claim('A-001-x', 's1', { agent_id: 'ada', lease_duration_seconds: 600 });
  await testServer.post(`${PROJECT_URL}/tasks/A-001-x/reassign`, {
    ...REASSIGNMENT,
    agent_id: 'bob',
    session_id: 's2',
  });
  return handle;
}

await describeInBrowser('the fleet view', (open) => {
  test('shows claims with their lease, takeovers, refusals, parked and accepted results as they happen', async () => {
    const testServer = await TestServer.forTest();
    await testServer.putPlan('A-001-x', 'B-001-y');
    const page = await open(viewUrl(testServer.url));
    await page.getByText('No agent has claimed anything yet').waitFor();
    await page.getByText('No claim is held. Claim a task: gen task claim').waitFor();
    await page.getByText('0 results accepted in the last hour').waitFor();

    const handle = await claimAndReassign(testServer);
    const bob = page.getByRole('row').filter({ hasText: 'bob' });
    await bob.filter({ hasText: 'active' }).waitFor();
    await bob.getByText(/^(\d+ min )?(\d+ s )?left$|min .*left$/).waitFor();
    const feedItems = page.getByRole('log').getByRole('listitem');
    await feedItems.filter({ hasText: 'bob took over A-001-x from ada (generation 2)' }).waitFor();

    await testServer.post(`${PROJECT_URL}/results`, { ...handle, result_data: 'late' });
    const parked =
      'the late result of ada for A-001-x was refused (STALE_GENERATION): it is of generation 1, and generation 2 is current. It is kept and can be adopted.';
    await feedItems.filter({ hasText: parked }).waitFor();
    await page.getByText('1 parked result', { exact: true }).waitFor();

    const other = await testServer.claim('B-001-y', 's3', { agent_id: 'cyd' });
    await testServer.post(`${PROJECT_URL}/results`, { ...other, result_data: 1 });
    await page.getByText('1 result accepted in the last hour, 1 in the last minute').waitFor();
    await page.getByRole('progressbar', { name: 'Track B: 1 of 1 done' }).waitFor();

    await feedItems.filter({ hasText: parked }).getByRole('link').click();
    await page.waitForURL(/#\/task\/A-001-x$/);
  });

  test('shows an agent that waits for a person as suspended, with the time left for the decision', async () => {
    const testServer = await TestServer.forTest();
    await testServer.putPlan('A-001-x');
    const { generation, ...handle } = await testServer.claim('A-001-x', 's1', { agent_id: 'ada' });
    const page = await open(viewUrl(testServer.url));
    const ada = page.getByRole('row').filter({ hasText: 'ada' });
    await ada.getByText('active').waitFor();
    await testServer.post(`${PROJECT_URL}/claims/suspend`, { ...handle, expected_generation: generation });
    await ada.getByText('suspended').waitFor();
    await ada.getByText(/decision within/).waitFor();
  });

  test('shows foreign text as it is, in both themes and at the width of a phone', async () => {
    const testServer = await TestServer.forTest();
    const task = { id: 'A-001-x', description: HOSTILE_DESCRIPTION, instructions: HOSTILE_INSTRUCTIONS };
    await testServer.request('PUT', `${PROJECT_URL}/plan`, { tracks: { A: [task] } });
    const { generation, ...handle } = await claimAndReassign(testServer);
    await testServer.post(`${PROJECT_URL}/results`, { ...handle, generation, result_data: 'late' });
    const hold = { reason: HOSTILE_DESCRIPTION, expected_generation: 2 };
    expect((await testServer.post(`${PROJECT_URL}/tasks/A-001-x/hold`, hold)).status).toBe(200);
    for (const options of [{ theme: 'light' }, { theme: 'dark', width: 380 }] as const) {
      const page = await open(viewUrl(testServer.url), options);
      await page.getByText("<script>document.title='taken over'</script>").waitFor();
      await page.getByText(/\\u\{202e\} drawkcab/).waitFor();
      expect(await page.title()).not.toContain('taken over');
      await page.getByRole('row').filter({ hasText: 'bob' }).waitFor();
      await expectAccessible(page);
    }
  });
});
