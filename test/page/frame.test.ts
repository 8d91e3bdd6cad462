import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { PROJECT_URL, TENANT_URL, TestServer } from '../../src/server/testing/test-server.js';
import { expectAccessible } from './support/accessible.js';
import { describeInBrowser, viewUrl } from './support/open-page.js';

const PLAN = { tracks: { A: [{ id: 'A-001-x', description: 'x' }] } };

/** Expects this number of lines in the header. Parts whose middles are at the same height are in one line. */
async function expectHeaderLines(page: Page, count: number): Promise<void> {
  const parts = await page.getByRole('banner').locator('> *').all();
  const boxes = await Promise.all(parts.map((part) => part.boundingBox()));
  const middles = boxes.map((box) => Math.round(((box?.y ?? 0) + (box?.height ?? 0) / 2) / 10));
  expect(new Set(middles).size).toBe(count);
  const status = await page.getByRole('banner').getByRole('status').boundingBox();
  expect(status?.height).toBeLessThan(30);
}

await describeInBrowser('the page', (open) => {
  test('is live, and shows what has happened without a reload', async () => {
    const testServer = await TestServer.forTest();
    await testServer.request('PUT', `${PROJECT_URL}/plan`, PLAN);
    const page = await open(viewUrl(testServer.url));
    await page.getByRole('status').getByText('live', { exact: true }).waitFor();
    await page.getByText('0 of 1 done').waitFor();
    const claim = { task_id: 'A-001-x', agent_id: 'ada', session_id: 's' };
    const { body } = await testServer.request('POST', `${PROJECT_URL}/claims`, claim);
    const handle = { task_id: 'A-001-x', session_id: 's', generation: 1, claim_id: body.claim.id };
    await testServer.request('POST', `${PROJECT_URL}/results`, { ...handle, result_data: 1 });
    await page.getByText('1 of 1 done').waitFor();
  });

  test('shows what has happened between its first reads and the start of the stream', async () => {
    const testServer = await TestServer.forTest();
    await testServer.request('PUT', `${PROJECT_URL}/plan`, PLAN);
    const page = await open('about:blank');
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/events/stream?*', async (route) => {
      await released;
      await route.continue();
    });
    await page.goto(viewUrl(testServer.url));
    await page.getByText('0 of 1 done').waitFor();
    const handle = await testServer.claim('A-001-x');
    await testServer.post(`${PROJECT_URL}/results`, { ...handle, result_data: 1 });
    release();
    await page.getByText('1 of 1 done').waitFor();
  });

  test('asks for a key when the server requires one', async () => {
    const testServer = await TestServer.forTest();
    await testServer.request('POST', `${TENANT_URL}/keys`, { role: 'admin' });
    const page = await open(viewUrl(testServer.url));
    await page.getByText('This server requires a key').waitFor();
    expect(await page.getByRole('status').textContent()).toBe('key required');
    const projects = await open(`${testServer.url}/?tenant=acme`, { theme: 'dark' });
    await projects.getByText('This server requires a key').waitFor();
    expect(await projects.locator('html').getAttribute('data-theme')).toBe('dark');
  });

  test('has the theme switch and the API link at the right of the header on a phone, also while a key is missing', async () => {
    const testServer = await TestServer.forTest();
    await testServer.request('POST', `${TENANT_URL}/keys`, { role: 'admin' });
    const page = await open(viewUrl(testServer.url), { width: 390 });
    await page.getByText('This server requires a key').waitFor();
    await expectHeaderLines(page, 2);
    const box = await page.getByRole('link', { name: 'API', exact: true }).boundingBox();
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeGreaterThan(370);
  });

  test('shows the status of an answer that is not from the server, and asks for a key if it is 401', async () => {
    const testServer = await TestServer.forTest();
    await testServer.request('PUT', `${PROJECT_URL}/plan`, PLAN);
    const page = await open('about:blank');
    await page.route('**/api/**', (route) => route.fulfill({ status: 502, body: '<h1>Bad gateway</h1>' }));
    await page.goto(viewUrl(testServer.url));
    await page.getByText('The answer with status 502 is not from a coordinator.').first().waitFor();
    await page.unrouteAll();
    await page.route('**/api/**', (route) => route.fulfill({ status: 401, json: {} }));
    for (const address of [viewUrl(testServer.url), `${testServer.url}/?tenant=acme`]) {
      await page.goto(address);
      await page.reload();
      await page.getByText('This server requires a key').waitFor();
    }
  });

  test('says that it is not live while the server is down, and continues when the server is back', async () => {
    const testServer = await TestServer.forTest();
    await testServer.request('PUT', `${PROJECT_URL}/plan`, PLAN);
    const page = await open(viewUrl(testServer.url), { width: 380 });
    await page.getByRole('status').getByText('live', { exact: true }).waitFor();
    const { port } = new URL(testServer.url);
    await testServer.running.stop();
    await page.getByText(/reconnecting for/).waitFor();
    await expectHeaderLines(page, 2);
    await testServer.restart(Number(port));
    await page.getByRole('status').getByText('live', { exact: true }).waitFor();
    await expectHeaderLines(page, 2);
  });

  test.for(['task/%E0%A4%A', 'nowhere', 'runs/a/b'])(
    'says that the address #/%s is unknown, and leads to the fleet',
    async (view) => {
      const testServer = await TestServer.forTest();
      await testServer.request('PUT', `${PROJECT_URL}/plan`, PLAN);
      const page = await open(viewUrl(testServer.url, view));
      await page.getByRole('heading', { name: 'Unknown address' }).waitFor();
      await expectAccessible(page);
      await page.getByRole('link', { name: 'Go to Fleet' }).click();
      await page.getByText('0 of 1 done').waitFor();
    },
  );

  test('says that a position is beyond the end of the log, and shows the newest events', async () => {
    const testServer = await TestServer.forTest();
    await testServer.request('PUT', `${PROJECT_URL}/plan`, PLAN);
    const { position } = (await testServer.get(`${PROJECT_URL}/status`)).body;
    const page = await open(viewUrl(testServer.url, 'log?at=999'));
    await page
      .getByRole('alert')
      .getByText(`The log ends at position ${position}. There is no position 999.`)
      .waitFor();
    await page.getByText('new ones appear at the top').waitFor();
    expect(await page.getByRole('region', { name: 'State at this position' }).count()).toBe(0);
  });
});
