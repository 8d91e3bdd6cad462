import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { PROJECT_URL, TENANT_URL, TestServer } from '../../src/server/testing/test-server.js';
import { expectAccessible } from './support/accessible.js';
import { HOSTILE_DESCRIPTION } from './support/hostile-text.js';
import { describeInBrowser, viewUrl } from './support/open-page.js';

const PLAN = {
  tracks: {
    A: [{ id: 'A-001-x', description: 'write the parser' }],
    B: [{ id: 'B-001-y', description: HOSTILE_DESCRIPTION }],
  },
};

async function startWithPlan(): Promise<TestServer> {
  const testServer = await TestServer.forTest();
  await testServer.request('PUT', `${PROJECT_URL}/plan`, PLAN);
  return testServer;
}

const waitUntilLive = (page: Page) => page.getByRole('status').getByText('live', { exact: true }).waitFor();
const searchField = (page: Page) => page.getByRole('combobox', { name: /^Search for/ });
async function openPalette(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Search and commands' }).click();
  await searchField(page).waitFor();
}
const selectedOption = (page: Page) => page.locator('[role=option][aria-selected=true]');

await describeInBrowser('the palette', (open) => {
  test('opens a task by a word of its description, with the keyboard alone', async () => {
    const testServer = await startWithPlan();
    const page = await open(viewUrl(testServer.url));
    await waitUntilLive(page);
    await page.keyboard.press('/');
    await searchField(page).waitFor();
    expect(await selectedOption(page).textContent()).toContain('Fleet');
    await page.keyboard.type('the parser');
    await page.getByRole('option', { name: /A-001-x/ }).waitFor();
    expect(await selectedOption(page).textContent()).toContain('A-001-x');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'A-001-x' }).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  test('moves its selection by the arrow keys, and closes by Escape', async () => {
    const testServer = await startWithPlan();
    const page = await open(viewUrl(testServer.url));
    await waitUntilLive(page);
    await page.keyboard.press('Control+k');
    await searchField(page).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.locator('[role=option][aria-selected=true]', { hasText: 'Plan: graph' }).waitFor();
    const active = await searchField(page).getAttribute('aria-activedescendant');
    expect(active).toBe(await selectedOption(page).getAttribute('id'));
    await page.keyboard.press('Escape');
    await searchField(page).waitFor({ state: 'detached' });
    await page.keyboard.press('Control+k');
    await searchField(page).waitFor();
    await page.keyboard.type('no such thing');
    await page.getByText('Nothing found.').waitFor();
  });

  test('offers the actions of the task that is shown, and opens their dialog', async () => {
    const testServer = await startWithPlan();
    const page = await open(viewUrl(testServer.url, 'task/A-001-x'));
    await page.getByRole('button', { name: 'Search and commands' }).click();
    await page.getByRole('option', { name: /Hold A-001-x…/ }).click();
    await page.getByRole('dialog').getByLabel('Reason').fill('not now');
    expect(page.url()).not.toContain('do=');
    await page.getByRole('dialog').getByRole('button', { name: 'Hold' }).click();
    await page.getByRole('button', { name: 'Unhold A-001-x…' }).waitFor();
  });

  test('verifies the log, also on the log view', async () => {
    const testServer = await startWithPlan();
    const page = await open(viewUrl(testServer.url, 'log'));
    await waitUntilLive(page);
    await openPalette(page);
    await page.keyboard.type('verify');
    await page.getByRole('option', { name: /Verify the log/ }).click();
    await page.getByText('valid', { exact: true }).waitFor();
  });

  test('changes the theme, also in the header', async () => {
    const testServer = await startWithPlan();
    const page = await open(viewUrl(testServer.url));
    await openPalette(page);
    await page.keyboard.type('dark');
    await page.getByRole('option', { name: /Use the dark theme/ }).click();
    await page.getByRole('button', { name: 'Use the light theme' }).waitFor();
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark');
  });

  test('offers a viewer no action', async () => {
    const testServer = await startWithPlan();
    const createKey = async (role: string, headers = {}) =>
      (await testServer.request('POST', `${TENANT_URL}/keys`, { role }, headers)).body.token as string;
    const authorization = `Bearer ${await createKey('admin')}`;
    const key = await createKey('viewer', { authorization });
    const page = await open(viewUrl(testServer.url, 'task/A-001-x'), { key });
    await openPalette(page);
    await page.keyboard.type('A-001');
    await page.getByRole('option', { name: /A-001-x/ }).waitFor();
    expect(await page.getByRole('option', { name: /Hold/ }).count()).toBe(0);
    await page.keyboard.press('Escape');
    await searchField(page).waitFor({ state: 'detached' });
    await page.goto(viewUrl(testServer.url, 'task/A-001-x?do=hold'));
    await page.reload();
    await page.getByRole('region', { name: 'Can it be claimed?' }).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  test.each(['light', 'dark'] as const)(
    'shows foreign text as it is, and fits a phone, %s',
    async (theme) => {
      const testServer = await startWithPlan();
      const page = await open(viewUrl(testServer.url), { width: 380, theme });
      await openPalette(page);
      await page.keyboard.type('drawkcab');
      await page.getByRole('option', { name: /B-001-y.*<script>.*\\u\{202e\}/ }).waitFor();
      await expectAccessible(page);
    },
  );
});
