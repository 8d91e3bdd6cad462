import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { PROJECT_URL, TENANT_URL, TestServer } from '../../src/server/testing/test-server.js';
import { expectAccessible } from './support/accessible.js';
import { describeInBrowser, type OpenPage, viewUrl } from './support/open-page.js';

const PARKED = 'A-001-x';
const REVIEWED = 'B-001-y';
const DIGEST = 'a'.repeat(64);

/** For each view, a text that shows that it has loaded, and the buttons of a caller who may press them. */
const VIEWS: Readonly<Record<string, { readonly text: string; readonly buttons: readonly string[] }>> = {
  '': { text: '0 of 2 done', buttons: [] },
  plan: { text: PARKED, buttons: [] },
  [`task/${PARKED}`]: { text: 'STALE_GENERATION', buttons: ['Hold', 'Release', 'Reassign', 'Adopt'] },
  inbox: { text: DIGEST, buttons: ['Adopt', 'Approve', 'Request changes', 'Reject'] },
  log: { text: 'RESULT_REJECTED', buttons: ['Verify the log'] },
};
const ACTIONS = [...new Set(Object.values(VIEWS).flatMap(({ buttons }) => buttons))];

/** A parked result, and a claim that waits for a decision. */
async function startWithWork() {
  const testServer = await TestServer.forTest();
  await testServer.putPlan(PARKED, REVIEWED);
  const late = await testServer.claim(PARKED, 's1');
  const release = { expected_generation: 1, reason: 'gone' };
  await testServer.post(`${PROJECT_URL}/tasks/${PARKED}/force_release`, release);
  await testServer.claim(PARKED, 's2');
  await testServer.post(`${PROJECT_URL}/results`, { ...late, result_data: 'late' });
  const { generation, ...handle } = await testServer.claim(REVIEWED, 's3');
  const candidate = { expected_generation: generation, iteration: 1, candidate_sha256: DIGEST };
  await testServer.post(`${PROJECT_URL}/claims/suspend`, { ...handle, ...candidate });
  const createKey = async (role: string, headers = {}) =>
    (await testServer.request('POST', `${TENANT_URL}/keys`, { role, user_id: 'ada' }, headers)).body;
  const admin = await createKey('admin');
  return { testServer, admin, createKey, asAdmin: { authorization: `Bearer ${admin.token}` } };
}

/** The actions for which the view has a button, whose text begins with the name of the action. */
async function actionsIn(page: Page): Promise<string[]> {
  const buttons = await page.getByRole('main').getByRole('button').all();
  const names = await Promise.all(buttons.map((button) => button.textContent()));
  return ACTIONS.filter((action) => names.some((name) => name?.startsWith(action)));
}

async function actionsByView(open: OpenPage, testServer: TestServer, role: string, key: string) {
  const actions: Record<string, string[]> = {};
  const page = await open(viewUrl(testServer.url), { key });
  await page.getByText(`ada · ${role}`).waitFor();
  for (const [view, { text }] of Object.entries(VIEWS)) {
    await page.goto(viewUrl(testServer.url, view));
    await page.getByRole('main').getByText(text).first().waitFor();
    actions[view] = await actionsIn(page);
  }
  return actions;
}

const noActions = Object.fromEntries(Object.keys(VIEWS).map((view) => [view, []]));

await describeInBrowser('the page of a caller', (open) => {
  test.each(['viewer', 'agent'])(
    'with the role %s has no button that the caller may not press',
    async (role) => {
      const { testServer, createKey, asAdmin } = await startWithWork();
      const { token } = await createKey(role, asAdmin);
      expect(await actionsByView(open, testServer, role, token)).toEqual(noActions);
    },
  );

  test('with the role reviewer has the buttons that decide, and no others', async () => {
    const { testServer, createKey, asAdmin } = await startWithWork();
    const { token } = await createKey('reviewer', asAdmin);
    expect(await actionsByView(open, testServer, 'reviewer', token)).toEqual({
      ...noActions,
      [`task/${PARKED}`]: ['Adopt'],
      inbox: ['Adopt', 'Approve', 'Request changes', 'Reject'],
    });
  });

  test('with the role admin has the buttons of every view', async () => {
    const { testServer, admin } = await startWithWork();
    const page = await open(viewUrl(testServer.url), { key: admin.token });
    const main = page.getByRole('main');
    for (const [view, { text, buttons }] of Object.entries(VIEWS)) {
      await page.goto(viewUrl(testServer.url, view));
      await main.getByText(text).first().waitFor();
      for (const name of buttons) await main.locator('button', { hasText: name }).first().waitFor();
    }
  });

  test('has no action before the server has identified the caller', async () => {
    const { testServer, admin } = await startWithWork();
    const page = await open(`${testServer.url}/healthz`, { key: admin.token });
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/api/whoami', async (route) => {
      await answered;
      await route.continue();
    });
    await page.goto(viewUrl(testServer.url, `task/${PARKED}`));
    await page.getByRole('main').getByText('STALE_GENERATION').first().waitFor();
    expect(await actionsIn(page)).toEqual([]);
    answer();
    await page.getByRole('button', { name: `Hold ${PARKED}` }).waitFor();
  });

  test('opens the tenant of the key', async () => {
    const { testServer, admin } = await startWithWork();
    const page = await open(testServer.url, { key: admin.token });
    await page.waitForURL(/tenant=acme&project=shop/);
    await page.getByText('0 of 2 done').waitFor();
  });

  test('asks for a key after the key of the caller was revoked, and for another key on request', async () => {
    const { testServer, admin, createKey, asAdmin } = await startWithWork();
    const { token, key_id } = await createKey('viewer', asAdmin);
    const page = await open(viewUrl(testServer.url));
    const enter = async (key: string) => {
      await page.getByLabel('API key').fill(key);
      await page.getByRole('button', { name: 'Use this key' }).click();
    };
    await enter(token);
    await page.getByText('ada · viewer').waitFor();
    await testServer.request('DELETE', `${TENANT_URL}/keys/${key_id}`, undefined, asAdmin);
    await page.getByText('The server does not accept the key of this tab').waitFor();
    await expectAccessible(page);
    await enter(admin.token);
    await page.getByText('ada · admin').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Change key' }).click();
    await page.getByText('This server requires a key').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });
});
