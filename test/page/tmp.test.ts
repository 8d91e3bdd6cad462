import { test } from 'vitest';
import { TestServer } from '../../src/server/testing/test-server.js';
import { describeInBrowser } from './support/open-page.js';
await describeInBrowser('tmp', (open) => {
  test('x', async () => {
    const served = await TestServer.forTest();
    const page = await open(`${served.url}/docs#/status/status`, { width: 1000 });
    page.on('console', (m) => console.log(m.type(), m.text()));
    await page.waitForTimeout(9000);
    await page.screenshot({ path: '/tmp/shots-w-p3/tmp.png' });
  });
});
