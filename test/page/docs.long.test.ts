import { expect, test } from 'vitest';
import { PROJECT_URL, TENANT_URL, TestServer } from '../../src/server/testing/test-server.js';
import { expectAccessible } from './support/accessible.js';
import { describeInBrowser } from './support/open-page.js';

const PLAN = { tracks: { A: [{ id: 'A-001-x', description: 'x' }] } };

await describeInBrowser('the API reference', (open) => {
  test('sends a request with the key of the page, and contacts no other host', async () => {
    const testServer = await TestServer.forTest();
    await testServer.request('PUT', `${PROJECT_URL}/plan`, PLAN);
    const { body } = await testServer.request('POST', `${TENANT_URL}/keys`, { role: 'admin' });
    const page = await open(`${testServer.url}/docs`, { key: body.token });
    const hosts = new Set<string>();
    page.on('request', (request) => hosts.add(new URL(request.url()).host));
    await page.goto(`${testServer.url}/docs?#/status/status`);
    const operation = page.locator('#operations-status-status');
    await operation.getByPlaceholder('tenant_id').fill('acme');
    await operation.getByPlaceholder('project_id').fill('shop');
    await operation.getByRole('button', { name: 'Execute' }).click();
    await operation.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor();
    expect([...hosts]).toEqual([new URL(testServer.url).host]);
  });

  for (const theme of ['light', 'dark'] as const)
    test(`is readable in the ${theme} theme, also at the width of a phone`, async () => {
      const testServer = await TestServer.forTest();
      const page = await open(`${testServer.url}/docs#/status/status`, { width: 380, theme });
      await page.getByRole('button', { name: 'Execute' }).waitFor();
      // The viewer puts a copy button into the button that opens an operation.
      await expectAccessible(page, ['nested-interactive']);
    });
});
