import { expect, test } from 'vitest';
import { type AnyJson, PROJECT_URL, TENANT_URL, TestServer } from '../../src/server/testing/test-server.js';
import { evaluatorReport, FILES } from '../support/workspace-files.js';
import { expectAccessible } from './support/accessible.js';
import { putFiles } from './support/blob.js';
import { describeInBrowser, viewUrl } from './support/open-page.js';

const TASK = 'A-001-x';
const EDGE = 'REQ-F-A#intent_requirements';
const DIGEST = 'a'.repeat(64);
const TENANT_HEADER = { 'x-genesis-tenant': 'acme' };

/** A task whose holder waits for a decision on a candidate. */
async function openWithReview() {
  const testServer = await TestServer.forTest();
  await testServer.putPlan(TASK, 'B-001-y');
  const { generation, ...handle } = await testServer.claim(TASK);
  const held = { ...handle, expected_generation: generation };
  const suspend = async (iteration: number, candidate_sha256: string) => {
    const suspension = { ...held, iteration, candidate_sha256 };
    const { body } = await testServer.post(`${PROJECT_URL}/claims/suspend`, suspension);
    expect(body.reason).toBe('SUSPENDED');
  };
  const resume = () => testServer.post(`${PROJECT_URL}/claims/resume`, held);
  await suspend(1, DIGEST);
  return { testServer, suspend, resume };
}

const approveByRequest = (testServer: TestServer) =>
  testServer.request(
    'POST',
    '/api/review',
    {
      project_id: 'shop',
      task_id: TASK,
      generation: 1,
      iteration: 1,
      candidate_sha256: DIGEST,
      decision: 'APPROVED',
    },
    TENANT_HEADER,
  );

const reviewsOf = async (testServer: TestServer): Promise<AnyJson[]> =>
  (await testServer.get(`${PROJECT_URL}/tasks/${TASK}/history`)).body.reviews;

/** An edge with a check that only a person can pass; its candidate has a file. */
async function escalateEdge(testServer: TestServer, text: string, session: string) {
  const claimed = await testServer.claim(EDGE, session);
  const manifest = await putFiles(testServer, { 'docs/requirements.md': text });
  const { body } = await testServer.post(`${PROJECT_URL}/results`, {
    ...claimed,
    result_data: manifest,
    iteration: 1,
    ...evaluatorReport({ complete: 'pass', wanted: 'pass' }),
  });
  expect(body.reason).toBe('ESCALATED');
}

await describeInBrowser('the inbox', (open) => {
  test('says when nothing waits', async () => {
    const testServer = await TestServer.forTest();
    await testServer.putPlan(TASK);
    const page = await open(viewUrl(testServer.url, 'inbox'));
    await page.getByText('Nothing waits for you').waitFor();
    expect(await page.title()).toBe('shop · Genesis Fleet');
  });

  test('shows a review when it arrives, and sends a decision with a comment', async () => {
    const { testServer } = await openWithReview();
    const page = await open(viewUrl(testServer.url, 'inbox'));
    const card = page.getByRole('article', { name: `Review ${TASK}` });
    await card.getByText(DIGEST).waitFor();
    await page.waitForFunction("document.title.startsWith('(1) ')");
    await card.getByLabel('Comment').fill('Name the limits.');
    // The typed comment stays when other events arrive.
    await testServer.claim('B-001-y', 's9');
    const hold = { expected_generation: 1, reason: 'later' };
    await testServer.post(`${PROJECT_URL}/tasks/B-001-y/hold`, hold);
    await page.getByRole('article', { name: 'On hold B-001-y' }).waitFor();
    expect(await card.getByLabel('Comment').inputValue()).toBe('Name the limits.');
    await page.reload();
    expect(await card.getByLabel('Comment').inputValue()).toBe('Name the limits.');
    await card.getByRole('button', { name: 'Request changes' }).click();
    await page.getByText(`Request changes: ${TASK}, generation 1`).waitFor();
    await card.waitFor({ state: 'detached' });
    expect(await reviewsOf(testServer)).toMatchObject([
      { decision: 'CHANGES_REQUESTED', comment: 'Name the limits.' },
    ]);
  });

  test('keeps a begun answer when another person has decided first, and shows the refusal', async () => {
    const { testServer } = await openWithReview();
    const page = await open(viewUrl(testServer.url, 'inbox'));
    const card = page.getByRole('article', { name: `Review ${TASK}` });
    await card.getByLabel('Comment').fill('No.');
    expect((await approveByRequest(testServer)).status).toBe(200);
    await page.getByText('no longer waits. What you have written is kept', { exact: false }).waitFor();
    await card.getByRole('button', { name: 'Reject' }).click();
    await card.getByText('ALREADY_DECIDED').waitFor();
    await card.getByText(/List what is still waiting/).waitFor();
    expect(await card.getByLabel('Comment').inputValue()).toBe('No.');
    await page.getByRole('button', { name: 'Remove' }).click();
    await card.waitFor({ state: 'detached' });
    expect(await reviewsOf(testServer)).toMatchObject([{ decision: 'APPROVED' }]);
  });

  test('shows why the answer to an older candidate is refused', async () => {
    const { testServer, resume, suspend } = await openWithReview();
    const page = await open(viewUrl(testServer.url, 'inbox'));
    const card = page.getByRole('article', { name: `Review ${TASK}` }).filter({ hasText: DIGEST });
    await card.waitFor();
    // The page does not learn of the newer candidate before it answers.
    await page.route('**/api/review?*', (route) => route.abort());
    await resume();
    await suspend(2, 'b'.repeat(64));
    await card.getByRole('button', { name: 'Approve' }).click();
    await card.getByText('STALE_REVIEW').waitFor();
    await page.unroute('**/api/review?*');
    await testServer.claim('B-001-y', 's9');
    await page.getByText('b'.repeat(64)).waitFor();
    await card.getByText(/decide on one of them/).waitFor();
    await page.getByRole('button', { name: 'Remove' }).click();
    await card.waitFor({ state: 'detached' });
    expect(await reviewsOf(testServer)).toEqual([]);
  });

  test('shows the files of a candidate against the accepted version, its checks, and approves it', async () => {
    const testServer = await TestServer.forTest();
    await testServer.request('POST', '/api/init', { project_id: 'shop', files: FILES }, TENANT_HEADER);
    await escalateEdge(testServer, 'Fast.\nSmall.\n', 's1');
    const page = await open(viewUrl(testServer.url, 'inbox'));
    const card = page.getByRole('article', { name: `Review ${EDGE}` });
    await card.getByText('wanted: it is what we want').waitFor();
    await card.getByText('complete: pass').waitFor();
    await card.getByText('docs/requirements.md').click();
    await card.getByText('Fast.\nSmall.').waitFor();
    await card.getByRole('button', { name: 'Approve' }).click();
    await page.getByText(`Approve: ${EDGE}, generation 1`).waitFor();
    const path = `${PROJECT_URL}/tasks/${encodeURIComponent(EDGE)}`;
    expect((await testServer.get(path)).body.phase).toBe('COMPLETED');
    await testServer.post(`${path}/reset`, { expected_generation: 1, reason: 'again' });
    await escalateEdge(testServer, 'Fast.\nTiny.\n', 's2');
    await card.getByText('docs/requirements.md').click();
    await card.getByText('+Tiny.').waitFor();
    await card.getByText('-Small.').waitFor();
    await page.getByRole('link', { name: EDGE }).click();
    await page.getByRole('heading', { level: 1, name: EDGE }).waitFor();
  });

  test('adopts a parked result', async () => {
    const testServer = await TestServer.forTest();
    await testServer.putPlan(TASK);
    const zombie = await testServer.claim(TASK);
    await testServer.post(`${PROJECT_URL}/tasks/${TASK}/force_release`, {
      expected_generation: 1,
      reason: 'silent',
    });
    await testServer.claim(TASK, 's2');
    await testServer.post(`${PROJECT_URL}/results`, { ...zombie, result_data: 'late' });
    const page = await open(viewUrl(testServer.url, 'inbox/parked'));
    const card = page.getByRole('article', { name: `Parked result ${TASK}` });
    await card.getByRole('button', { name: /^Adopt/ }).click();
    await page.getByLabel('Reason').fill('good work');
    await page.getByRole('dialog').getByRole('button', { name: 'Adopt' }).click();
    await card.waitFor({ state: 'detached' });
    expect((await testServer.get(`${PROJECT_URL}/tasks/${TASK}`)).body.phase).toBe('COMPLETED');
  });

  test('frees a claim whose holder is silent, which the fleet view calls stale', async () => {
    const testServer = await TestServer.forTest({ limits: { min_lease_duration_seconds: 1 } });
    await testServer.putPlan(TASK);
    const policy = { stale_policy: 'hold', stale_threshold_seconds: 1, sweep_interval_seconds: 1 };
    expect((await testServer.request('PUT', `${PROJECT_URL}/policy`, policy)).status).toBe(200);
    await testServer.claim(TASK, 's1', { lease_duration_seconds: 1 });
    const page = await open(viewUrl(testServer.url));
    await page.getByRole('row').filter({ hasText: 'alpha' }).getByText('stale', { exact: true }).waitFor();
    await page.getByRole('link', { name: '1 stale' }).click();
    const card = page.getByRole('article', { name: `Stale claim ${TASK}` });
    await card.getByRole('button', { name: /^Reassign/ }).waitFor();
    await card.getByRole('button', { name: /^Release/ }).click();
    await page.getByRole('dialog').getByLabel('Reason').fill('It does not answer.');
    await page.getByRole('dialog').getByRole('button', { name: 'Release' }).click();
    await card.waitFor({ state: 'detached' });
    expect((await testServer.get(`${PROJECT_URL}/tasks/${TASK}`)).body.readiness).toBe('ready');
  });

  test('decides on proposed tasks, which a viewer only reads', async () => {
    const testServer = await TestServer.forTest();
    await testServer.putPlan(TASK);
    const make = async (role: string, headers = {}): Promise<string> =>
      (await testServer.request('POST', `${TENANT_URL}/keys`, { role }, headers)).body.token;
    const admin = await make('admin');
    const asAdmin = { authorization: `Bearer ${admin}` };
    const [agent, viewer, reviewer] = [
      await make('agent', asAdmin),
      await make('viewer', asAdmin),
      await make('reviewer', asAdmin),
    ];
    const tasks = [{ id: 'A-002-new', description: '<b>bold</b>' }];
    await testServer.request('POST', `${PROJECT_URL}/tasks`, { tasks }, { authorization: `Bearer ${agent}` });
    const asViewer = await open(viewUrl(testServer.url, 'inbox'), { key: viewer });
    await asViewer.getByText('· viewer').waitFor();
    await asViewer.getByText('<b>bold</b>').waitFor();
    expect(await asViewer.getByRole('button', { name: 'Add to the plan' }).count()).toBe(0);
    const asReviewer = await open(viewUrl(testServer.url, 'inbox'), { key: reviewer });
    await asReviewer.getByText('<b>bold</b>').waitFor();
    await asReviewer.getByRole('button', { name: 'Add to the plan' }).click();
    await asReviewer.getByText('Nothing waits for you').waitFor();
    const { body } = await testServer.request('GET', `${PROJECT_URL}/plan`, undefined, asAdmin);
    expect(body.plan.tracks.A).toHaveLength(2);
  });

  test('names a limit that was reached', async () => {
    const testServer = await TestServer.forTest();
    await testServer.putPlan(TASK, 'B-001-y');
    const { body: limits } = await testServer.get(`${TENANT_URL}/limits`);
    await testServer.request('PUT', `${TENANT_URL}/limits`, { ...limits.limits, max_concurrent_claims: 1 });
    await testServer.claim(TASK);
    const page = await open(viewUrl(testServer.url, 'inbox'));
    await page.getByText('Nothing waits for you').waitFor();
    const claim = { task_id: 'B-001-y', agent_id: 'beta', session_id: 's2' };
    const refused = await testServer.post(`${PROJECT_URL}/claims`, claim);
    expect(refused.body.reason).toBe('DENIED_LIMIT');
    await page
      .getByRole('article', { name: /Limit reached/ })
      .getByText('1 claim of beta')
      .waitFor();
  });

  test.each(['light', 'dark'] as const)('is accessible and fits a phone, %s', async (theme) => {
    const { testServer } = await openWithReview();
    await testServer.post(`${PROJECT_URL}/tasks/B-001-y/hold`, {
      expected_generation: 0,
      reason: `<script>window.hacked=1</script>\u202E${'long'.repeat(400)}`,
    });
    const page = await open(viewUrl(testServer.url, 'inbox'), { theme, width: 380, height: 800 });
    await page.getByRole('article', { name: `Review ${TASK}` }).waitFor();
    await page.getByText('<script>window.hacked=1</script>\\u{202e}', { exact: false }).waitFor();
    expect(await page.evaluate('window.hacked')).toBeUndefined();
    await expectAccessible(page);
  });
});
