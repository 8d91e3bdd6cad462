import { readFile } from 'node:fs/promises';
import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { PROJECT_URL, TestServer } from '../../src/server/testing/test-server.js';
import { expectAccessible } from './support/accessible.js';
import { describeInBrowser, viewUrl } from './support/open-page.js';

const EVENTS = 10_000;
const BATCH = 1000;

const moonEvent = (index: number) => ({
  event_id: `0d3e6a52-6d0b-8d5e-9a55-${String(index).padStart(12, '0')}`,
  event_type: index % 100 === 0 ? 'moon_landing' : 'moon_phase',
  timestamp: new Date(Date.UTC(2025, 0, 1) + index * 60_000).toISOString(),
  agent_id: index % 2 === 0 ? 'even' : 'odd',
  payload: { phase: index, imported: { source: 'old.jsonl', line: index + 1 } },
});

/** A project with a plan, a completed task, and 10,000 events of another tool after it. */
async function longLog(): Promise<TestServer> {
  const testServer = await TestServer.forTest();
  await testServer.putPlan('A-001-x', 'A-002-x');
  const handle = await testServer.claim('A-001-x');
  await testServer.post(`${PROJECT_URL}/results`, { ...handle, result_data: 1 });
  for (let from = 0; from < EVENTS; from += BATCH) {
    const events = Array.from({ length: BATCH }, (_, index) => moonEvent(from + index));
    const reply = await testServer.post(`${PROJECT_URL}/events/import`, { events });
    expect(reply.body.written).toBe(BATCH);
  }
  return testServer;
}

const rows = (page: Page) => page.getByRole('region', { name: 'Events' }).getByRole('listitem');

await describeInBrowser('the log', (open) => {
  test('shows 10,000 events with few rows in the document, and keeps the filter in the URL', async () => {
    const testServer = await longLog();
    const end = (await testServer.get(`${PROJECT_URL}/status`)).body.position as number;
    const page = await open(viewUrl(testServer.url, 'log'));
    await page.getByText('new ones appear at the top').waitFor();
    await rows(page).first().getByText(String(end), { exact: true }).waitFor();
    expect(await rows(page).count()).toBeLessThan(60);

    await page.getByLabel('Type').fill('moon_landing');
    await page.getByLabel('Agent').fill('even');
    await page.getByRole('button', { name: 'Filter', exact: true }).click();
    await page.getByText(/^100 (or more )?events, new ones/).waitFor();
    expect(page.url()).toContain('#/log?type=moon_landing&agent=even');

    await page.reload();
    await page.getByText(/^100 (or more )?events, new ones/).waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByLabel('Subject').fill('A-001-x');
    await page.getByLabel('Session').fill('s1');
    await page.keyboard.press('Enter');
    await rows(page).getByText('CLAIM_ACQUIRED').waitFor();
    await page.goto(`${testServer.url}/?tenant=acme&project=shop#/log?until=2025-01-01T00:01:30.000Z`);
    await page.getByText(/^2 events$/).waitFor();
  });

  test('shows an event whole, and the state at it', async () => {
    const testServer = await TestServer.forTest();
    await testServer.putPlan('A-001-x', 'A-002-x');
    const handle = await testServer.claim('A-001-x');
    const claimPosition = (await testServer.get(`${PROJECT_URL}/status`)).body.position as number;
    await testServer.post(`${PROJECT_URL}/results`, { ...handle, result_data: 1 });
    const page = await open(viewUrl(testServer.url, 'log'));
    await rows(page).getByText('CLAIM_ACQUIRED').click();
    const detail = page.getByRole('region', { name: `Event ${claimPosition}` });
    await detail.getByText('"event_type": "CLAIM_ACQUIRED"').waitFor();
    await detail.getByRole('link', { name: 'State at this event' }).click();
    const stateAtPosition = page.getByRole('region', { name: 'State at this position' });
    await stateAtPosition.getByText('0 of 2 done, 1 in progress').waitFor();
    await stateAtPosition.getByRole('cell', { name: 'ACTIVE' }).waitFor();
    await page.getByText(`up to position ${claimPosition}`).waitFor();
    await rows(page).first().getByText(String(claimPosition), { exact: true }).waitFor();

    await page.getByRole('slider').press('Home');
    await page.getByText('up to position 1', { exact: false }).first().waitFor();
    await page.getByRole('button', { name: 'Now' }).click();
    await page.getByText('new ones appear at the top').waitFor();
  });

  test('adds new events at the top of the list', async () => {
    const testServer = await TestServer.forTest();
    await testServer.putPlan('A-001-x');
    const page = await open(viewUrl(testServer.url, 'log'));
    await page.getByText('new ones appear at the top').waitFor();
    await page.getByRole('status').getByText('live', { exact: true }).waitFor();
    await testServer.claim('A-001-x');
    await rows(page).first().getByText('CLAIM_ACQUIRED').waitFor();
  });

  test('keeps the rows of a reader who has scrolled down, and tells how many events are new', async () => {
    const testServer = await longLog();
    const page = await open(viewUrl(testServer.url, 'log'));
    await page.getByText('new ones appear at the top').waitFor();
    await page.getByRole('status').getByText('live', { exact: true }).waitFor();
    const box = page.locator('.log-scroll');
    await box.evaluate((element) => element.scrollTo({ top: 2000 }));
    const middle = rows(page).filter({ hasText: 'moon_phase' }).nth(15);
    const text = await middle.textContent();
    const topOf = async (row: Locator) =>
      ((await row.boundingBox())?.y as number) - ((await box.boundingBox())?.y as number);
    const top = await topOf(middle);
    await testServer.claim('A-002-x');
    const button = page.getByRole('button', { name: /new events?$/ });
    await button.filter({ hasText: '1 new event' }).waitFor();
    await testServer.putPlan('A-001-x', 'A-002-x', 'B-001-x');
    await button.filter({ hasText: '2 new events' }).waitFor();
    const same = rows(page).filter({ hasText: text as string });
    expect(await topOf(same)).toBe(top);
    await expectAccessible(page);

    await button.click();
    await rows(page).first().getByText('PLAN_CHANGED').waitFor();
    await rows(page).nth(1).getByText('CLAIM_ACQUIRED').waitFor();
    await button.waitFor({ state: 'detached' });
  });

  test('reads the state of the past once, whatever happens meanwhile', async () => {
    const testServer = await TestServer.forTest();
    await testServer.putPlan('A-001-x', 'A-002-x');
    const page = await open(`${testServer.url}/healthz`);
    const requestedUrls: string[] = [];
    page.on('request', (request) => requestedUrls.push(request.url()));
    await page.goto(viewUrl(testServer.url, 'log?at=1'));
    await page.getByRole('region', { name: 'State at this position' }).getByText('0 of 2 done').waitFor();
    await page.getByRole('status').getByText('live', { exact: true }).waitFor();
    for (const task of ['A-001-x', 'A-002-x']) {
      await testServer.claim(task, task);
      const { position } = (await testServer.get(`${PROJECT_URL}/status`)).body;
      // The end of the slider is read again with everything else.
      await page.getByText(`of ${position}`, { exact: true }).waitFor();
    }
    expect(requestedUrls.filter((url) => url.includes('/status?at=1'))).toHaveLength(1);
    expect(requestedUrls.filter((url) => url.endsWith('/status')).length).toBeGreaterThan(1);
  });

  test('verifies the log on request', async () => {
    const testServer = await TestServer.forTest();
    await testServer.putPlan('A-001-x', 'A-002-x');
    await testServer.claim('A-001-x');
    const page = await open(viewUrl(testServer.url, 'log'));
    await page.getByRole('button', { name: 'Verify the log' }).click();
    await page.getByText('valid', { exact: true }).waitFor();
  });

  test('verifies the log when the fleet view requests it, and only once', async () => {
    const testServer = await TestServer.forTest();
    await testServer.putPlan('A-001-x');
    const handle = await testServer.claim('A-001-x');
    await testServer.post(`${PROJECT_URL}/results`, { ...handle, result_data: 1 });
    const page = await open(viewUrl(testServer.url));
    const requestedUrls: string[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/verify')) requestedUrls.push(request.url());
    });
    await page.getByRole('button', { name: 'Verify the log' }).click();
    await page.getByRole('status').filter({ hasText: 'no checkpoint' }).waitFor();
    await page.getByRole('link', { name: 'Fleet', exact: true }).click();
    await page.getByRole('link', { name: 'Log', exact: true }).click();
    await page.getByText('new ones appear at the top').waitFor();
    expect(requestedUrls).toHaveLength(1);
  });

  test('stops a verification when its view is left', async () => {
    const testServer = await TestServer.forTest();
    await testServer.putPlan('A-001-x');
    const page = await open(viewUrl(testServer.url, 'log'));
    await page.route('**/verify', () => {});
    const stopped = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/verify'));
    await page.getByRole('button', { name: 'Verify the log' }).click();
    await page.getByRole('button', { name: 'Verifying…' }).waitFor();
    await page.getByRole('link', { name: 'Plan', exact: true }).click();
    expect((await stopped).failure()?.errorText).toBe('net::ERR_ABORTED');
  });

  test('saves the events of the filter as JSON lines', async () => {
    const testServer = await TestServer.forTest();
    await testServer.putPlan('A-001-x', 'A-002-x');
    await testServer.claim('A-001-x');
    const page = await open(viewUrl(testServer.url, 'log?type=CLAIM_ACQUIRED'));
    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download these events' }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toBe('shop-events.jsonl');
    const lines = (await readFile(await download.path(), 'utf8')).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ event_type: 'CLAIM_ACQUIRED' }]);
    await page.getByText('1 events saved').waitFor();
  });

  for (const theme of ['light', 'dark'] as const)
    test(`is readable in the ${theme} theme, also at the width of a phone`, async () => {
      const testServer = await TestServer.forTest();
      await testServer.putPlan('A-001-x', 'A-002-x');
      await testServer.claim('A-001-x');
      const page = await open(viewUrl(testServer.url, 'log?at=2&event=1'), { width: 380, theme });
      await page.getByText('State at position 2').waitFor();
      await rows(page).first().waitFor();
      await page.getByRole('region', { name: 'Event 1' }).getByText('"event_type"').waitFor();
      await expectAccessible(page);
      await page.setViewportSize({ width: 1280, height: 900 });
      await expectAccessible(page);
    });
});
