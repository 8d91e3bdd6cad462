import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { PROJECT_URL, TENANT_URL, TestServer } from '../../src/server/testing/test-server.js';
import { expectAccessible } from './support/accessible.js';
import { describeInBrowser, viewUrl } from './support/open-page.js';

const TASK = 'A-001-x';
const DIGEST = 'a'.repeat(64);
const FAILING = [{ name: 'unit_tests', says: '2 of 7 fail' }];
const TENANT_HEADER = { 'x-genesis-tenant': 'acme' };

/** A candidate that waits for a decision. */
async function startWithReview(more: object = {}): Promise<TestServer> {
  const testServer = await TestServer.forTest();
  await testServer.putPlan(TASK);
  const { generation, ...handle } = await testServer.claim(TASK);
  const candidate = { expected_generation: generation, iteration: 1, candidate_sha256: DIGEST, ...more };
  const { body } = await testServer.post(`${PROJECT_URL}/claims/suspend`, { ...handle, ...candidate });
  expect(body.reason).toBe('SUSPENDED');
  return testServer;
}

async function linkUrl(testServer: TestServer): Promise<string> {
  const linkRequest = { project_id: 'shop', task_id: TASK, reviewer: 'rita@example.com' };
  const { body } = await testServer.request('POST', '/api/review/link', linkRequest, TENANT_HEADER);
  return `${testServer.url}${body.path}`;
}

const cardOf = (page: Page) => page.getByRole('article', { name: `Review ${TASK}` });
const buttonsOf = (page: Page) => page.getByRole('main').getByRole('button').allTextContents();

await describeInBrowser('a review', (open) => {
  test.each(['viewer', 'agent'])('has no answers for the role %s, and says why', async (role) => {
    const testServer = await startWithReview();
    const create = async (keyRole: string, headers = {}) =>
      (await testServer.request('POST', `${TENANT_URL}/keys`, { role: keyRole }, headers)).body.token;
    const admin = await create('admin');
    const key = await create(role, { authorization: `Bearer ${admin}` });
    const page = await open(viewUrl(testServer.url, 'inbox'), { key });
    await cardOf(page).getByText(`Your role, ${role}, does not permit a decision.`).waitFor();
    await cardOf(page).getByText(DIGEST).waitFor();
    expect(await buttonsOf(page)).toEqual([]);
    await expectAccessible(page);
  });

  test('of a candidate whose checks have failed cannot be approved in the inbox', async () => {
    const testServer = await startWithReview({ failing: FAILING });
    const page = await open(viewUrl(testServer.url, 'inbox'));
    await cardOf(page)
      .getByText('Required checks have not passed, so the candidate cannot be approved')
      .waitFor();
    await cardOf(page).getByText('unit_tests: 2 of 7 fail').waitFor();
    await cardOf(page).getByRole('button', { name: 'Reject' }).waitFor();
    expect(await buttonsOf(page)).toEqual(['Request changes', 'Reject']);
  });

  test('of a candidate whose checks have failed cannot be approved by its link', async () => {
    const testServer = await startWithReview({ failing: FAILING });
    const page = await open(await linkUrl(testServer));
    await page
      .getByRole('heading', { name: /cannot be approved: these required checks have not passed/ })
      .waitFor();
    await page.getByText('unit_tests: 2 of 7 fail').waitFor();
    expect(await buttonsOf(page)).toEqual(['Request changes', 'Reject']);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Request changes' }).click();
    await page.getByText('You have requested changes.').waitFor();
  });

  test('of a candidate without failed checks can be approved by its link', async () => {
    const page = await open(await linkUrl(await startWithReview()));
    expect(await buttonsOf(page)).toEqual(['Approve', 'Request changes', 'Reject']);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('You have approved this candidate.').waitFor();
  });
});
