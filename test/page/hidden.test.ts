import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { PROJECT_URL, TestServer } from '../../src/server/testing/test-server.js';
import { describeInBrowser, viewUrl } from './support/open-page.js';

const TASK = 'A-001-x';
const PLAN = { tracks: { A: [{ id: TASK, description: 'x' }] } };
/** More than the connections that a browser opens to one server. */
const TABS = 8;

/** A browser without windows calls every tab visible. */
const VISIBILITY_SCRIPT = `
  let visibility = 'visible';
  Object.defineProperty(document, 'visibilityState', { get: () => visibility });
  window.setVisibility = (value) => {
    visibility = value;
    document.dispatchEvent(new Event('visibilitychange'));
  };`;

const setVisibility = (page: Page, value: 'visible' | 'hidden') =>
  page.evaluate(`window.setVisibility('${value}')`);
const waitForMark = (page: Page, text: string) =>
  page.getByRole('status').getByText(text, { exact: true }).waitFor();

async function openTab(first: Page, url: string): Promise<Page> {
  const tab = await first.context().newPage();
  await tab.clock.install();
  await tab.addInitScript(VISIBILITY_SCRIPT);
  await tab.goto(url);
  await waitForMark(tab, 'live');
  return tab;
}

async function hide(tab: Page): Promise<void> {
  await setVisibility(tab, 'hidden');
  await tab.clock.fastForward(11_000);
  await waitForMark(tab, 'paused while hidden');
}

await describeInBrowser('a hidden tab', (open) => {
  test('closes its event stream, so that more tabs than connections work, and continues when it is shown', async () => {
    const testServer = await TestServer.forTest();
    await testServer.request('PUT', `${PROJECT_URL}/plan`, PLAN);
    const first = await open('about:blank');
    const tabs: Page[] = [];
    for (let count = 0; count < TABS; count++) {
      const tab = await openTab(first, viewUrl(testServer.url));
      await tab.getByText('0 of 1 done').waitFor();
      await hide(tab);
      tabs.push(tab);
    }
    const claim = { task_id: TASK, agent_id: 'ada', session_id: 's' };
    const { body } = await testServer.request('POST', `${PROJECT_URL}/claims`, claim);
    const handle = { task_id: TASK, session_id: 's', generation: 1, claim_id: body.claim.id };
    await testServer.request('POST', `${PROJECT_URL}/results`, { ...handle, result_data: 1 });
    const [shown] = tabs as [Page];
    await setVisibility(shown, 'visible');
    await waitForMark(shown, 'live');
    await shown.getByText('1 of 1 done').waitFor();
  });

  test('counts in its title what waits for a person', async () => {
    const testServer = await TestServer.forTest();
    await testServer.request('PUT', `${PROJECT_URL}/plan`, PLAN);
    const tab = await openTab(await open('about:blank'), viewUrl(testServer.url));
    await hide(tab);
    const hold = { expected_generation: 0, reason: 'wait for the contract' };
    expect((await testServer.post(`${PROJECT_URL}/tasks/${TASK}/hold`, hold)).status).toBe(200);
    expect(await tab.title()).toBe('shop · Genesis Fleet');
    await tab.clock.fastForward(31_000);
    await expect.poll(() => tab.title(), { timeout: 30_000 }).toBe('(1) shop · Genesis Fleet');
  });
});
