import { expect, test } from 'vitest';
import { PROJECT_URL, TestServer } from '../../src/server/testing/test-server.js';
import { expectAccessible, expectNotCut } from './support/accessible.js';
import { putFiles, putText } from './support/blob.js';
import { describeInBrowser, viewUrl } from './support/open-page.js';

const TASK = 'A-001-x';
const HOSTILE = `<script>window.hacked = 1</script><img src=x onerror="window.hacked=1"> \u202Egnp.exe ${'w'.repeat(10_000)}`;

type Handle = Awaited<ReturnType<TestServer['claim']>>;

const submit = (testServer: TestServer, handle: Handle, result: object) =>
  testServer.post(`${PROJECT_URL}/results`, { ...handle, ...result });

const operate = (testServer: TestServer, verb: string, expected_generation: number) =>
  testServer.post(`${PROJECT_URL}/tasks/${TASK}/${verb}`, { expected_generation, reason: 'test' });

/** Two generations: the first was released by force, and its late result is parked while the second is held. */
async function openWithParked(late: object = { result_data: 'one\ntwo\n' }) {
  const testServer = await TestServer.forTest();
  await testServer.putPlan(TASK);
  const zombie = await testServer.claim(TASK, 's1');
  await operate(testServer, 'force_release', 1);
  const holder = await testServer.claim(TASK, 's2', { agent_id: 'beta' });
  expect((await submit(testServer, zombie, late)).body).toMatchObject({ reason: 'STALE_GENERATION' });
  return { testServer, zombie, holder };
}

await describeInBrowser('the page of a task', (open) => {
  test('shows lineage, and adopts a parked result for a reason', async () => {
    const { testServer } = await openWithParked();
    const page = await open(viewUrl(testServer.url, `task/${TASK}`));
    await page
      .getByRole('img', { name: /Generation 1: FORCED, continued after its claim had ended/ })
      .waitFor();
    await page.getByRole('img', { name: /Generation 2: IN_PROGRESS; 0 refused/ }).waitFor();
    const refused = page.getByRole('region', { name: 'Refused submissions' });
    await refused.getByText('STALE_GENERATION').waitFor();
    await refused.getByText('Its data').click();
    await refused.getByText('one\ntwo').waitFor();
    await refused.getByRole('button', { name: /^Adopt/ }).click();
    const dialog = page.getByRole('dialog');
    await expectAccessible(page);
    await dialog.getByLabel('Reason').fill('It is complete.');
    await dialog.getByRole('button', { name: 'Adopt' }).click();
    await page.getByRole('row').getByText('adopted from generation 1 of alpha').waitFor();
    await page.getByRole('region', { name: 'Result', exact: true }).getByText('one\ntwo').waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
    const { body } = await testServer.get(`${PROJECT_URL}/tasks/${TASK}`);
    expect(body).toMatchObject({ phase: 'COMPLETED', parked: 0 });
  });

  test('shows how a refused result differs from the accepted one', async () => {
    const { testServer, holder } = await openWithParked();
    await submit(testServer, holder, { result_data: 'one\nthree\n' });
    const page = await open(viewUrl(testServer.url, `task/${TASK}`));
    await page.getByText('Difference to the accepted result').click();
    const difference = page.getByRole('region', { name: 'Difference' });
    await difference.getByText('-three').waitFor();
    await difference.getByText('+two').waitFor();
  });

  test('names the adoption that replaced a result and the caller without a key, and shows that a reset reopened the task', async () => {
    const { testServer, holder } = await openWithParked();
    await submit(testServer, holder, { result_data: 'one\nthree\n' });
    const page = await open(viewUrl(testServer.url, `task/${TASK}`));
    const refused = page.getByRole('region', { name: 'Refused submissions' });
    await refused.getByRole('button', { name: /^Reset and adopt/ }).click();
    await page.getByLabel('Reason').fill('It is better.');
    await page.getByRole('dialog').getByRole('button', { name: 'Reset and adopt' }).click();
    await page.getByText('replaced by the adoption of generation 3').waitFor();
    await page.getByRole('img', { name: /^Generation 2: REPLACED/ }).waitFor();
    const adoption = page.getByRole('row').filter({ hasText: 'adopted from generation 1' });
    await adoption.getByRole('cell', { name: 'anonymous', exact: true }).first().waitFor();
    const result = page.getByRole('region', { name: 'Result', exact: true });
    await result.getByText(/^As generation 3 adopted from generation 1 of .*, by anonymous/).waitFor();
    await operate(testServer, 'reset', 3);
    await page.getByRole('img', { name: /^Generation 3: REOPENED/ }).waitFor();
    await testServer.claim(TASK, 's4');
    await page.getByRole('img', { name: /^Generation 4: IN_PROGRESS/ }).waitFor();
    await page.getByRole('row').getByText('REOPENED', { exact: true }).waitFor();
  });

  test('shows files and blobs when they are opened', async () => {
    const testServer = await TestServer.forTest();
    await testServer.putPlan(TASK);
    const handle = await testServer.claim(TASK);
    const manifest = await putFiles(testServer, { 'src/a.ts': 'const a = 1;\n', 'bin/b': '\0\0' });
    await submit(testServer, handle, { result_data: manifest });
    const page = await open(viewUrl(testServer.url, `task/${TASK}`));
    await page.getByText('src/a.ts').click();
    await page.getByText('const a = 1;').waitFor();
    await page.getByText('bin/b').click();
    await page.getByText('This is not text.').waitFor();
    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).first().click();
    expect((await downloading).suggestedFilename()).toMatch(/^(a\.ts|b)$/);
  });

  test('reads only the start of a large result', async () => {
    const testServer = await TestServer.forTest();
    await testServer.putPlan(TASK);
    const handle = await testServer.claim(TASK);
    const blob_sha256 = await putText(testServer, `start${'x'.repeat(9 * 1024 * 1024)}`);
    expect((await submit(testServer, handle, { blob_sha256 })).body).toMatchObject({ accepted: true });
    const page = await open(viewUrl(testServer.url, `task/${TASK}`));
    await page.getByText('Open the large content').click();
    await page.getByText('Only the start of the text is shown.').waitFor();
  });

  test('says why the task cannot be claimed, and is live', async () => {
    const testServer = await TestServer.forTest();
    await testServer.putPlan(TASK, 'B-001-y');
    const page = await open(viewUrl(testServer.url, `task/${TASK}`));
    const answer = page.getByRole('region', { name: 'Can it be claimed?' });
    await answer.getByText('GRANTED').waitFor();
    await answer.getByText('Yes, it can be claimed now.').waitFor();
    const handle = await testServer.claim(TASK);
    await answer.getByText('DENIED_ACTIVE_CLAIM').waitFor();
    await answer.getByText('No, it cannot be claimed now:').waitFor();
    expect(await answer.getByRole('listitem').locator('time').getAttribute('title')).toMatch(/Z \(UTC\)$/);
    await testServer.post(`${PROJECT_URL}/tasks/${TASK}/notes`, { ...handle, text: 'mind the gap' });
    await page.getByText('mind the gap').waitFor();
  });

  test('holds a task, and shows the refusal when the generation has changed', async () => {
    const testServer = await TestServer.forTest();
    await testServer.putPlan(TASK);
    const page = await open(viewUrl(testServer.url, `task/${TASK}`));
    await page.getByRole('button', { name: /^Hold/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('To continue, enter a reason.').waitFor();
    expect(await dialog.getByRole('button', { name: 'Hold' }).isDisabled()).toBe(true);
    await dialog.getByLabel('Reason').fill('wait for the law');
    expect(await dialog.getByText('To continue').count()).toBe(0);
    await testServer.claim(TASK);
    await page.getByText('held by').waitFor();
    await dialog.getByRole('button', { name: 'Hold' }).click();
    await dialog.getByText('GENERATION_MISMATCH').waitFor();
    await dialog.getByText(/retry with its generation/).waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: /^Hold/ }).click();
    expect(await dialog.getByLabel('Reason').inputValue()).toBe('wait for the law');
    await dialog.getByRole('button', { name: 'Hold' }).click();
    await page.getByRole('button', { name: /^Unhold/ }).waitFor();
  });

  test('keeps an open dialog when another person has done the same', async () => {
    const testServer = await TestServer.forTest();
    await testServer.putPlan(TASK);
    const page = await open(viewUrl(testServer.url, `task/${TASK}`));
    await page.getByRole('button', { name: /^Hold/ }).click();
    await page.getByLabel('Reason').fill('my reason');
    await operate(testServer, 'hold', 0);
    await page.getByText('held', { exact: true }).waitFor();
    expect(await page.getByLabel('Reason').inputValue()).toBe('my reason');
  });

  test('reassigns a task to another session', async () => {
    const testServer = await TestServer.forTest();
    await testServer.putPlan(TASK);
    await testServer.claim(TASK);
    const page = await open(viewUrl(testServer.url, `task/${TASK}`));
    await page.getByRole('button', { name: /^Reassign/ }).click();
    await page.getByLabel('Agent').fill('beta');
    await page.getByLabel('Session').fill('s2');
    await page.getByLabel('Reason').fill('alpha is gone');
    await page.getByRole('dialog').getByRole('button', { name: 'Reassign' }).click();
    await page.getByText('held by beta').waitFor();
  });

  test.each(['light', 'dark'] as const)(
    'is accessible and fits a phone with hostile text, %s',
    async (theme) => {
      const { testServer, holder } = await openWithParked({ result_data: HOSTILE });
      await testServer.request('PUT', `${PROJECT_URL}/plan`, {
        tracks: { A: [{ id: TASK, description: HOSTILE.slice(0, 1990), instructions: HOSTILE }] },
      });
      await testServer.post(`${PROJECT_URL}/tasks/${TASK}/notes`, {
        ...holder,
        text: HOSTILE.slice(0, 4000),
      });
      const page = await open(viewUrl(testServer.url, `task/${TASK}`), { theme, width: 380, height: 800 });
      await page.getByText('Its data').click();
      await page.getByRole('region', { name: /^Result / }).waitFor();
      await page.getByText('\\u{202e}gnp.exe').first().waitFor();
      expect(await page.evaluate('window.hacked')).toBeUndefined();
      await expectAccessible(page);
      await expectNotCut(page.getByRole('region', { name: 'Generations' }));
    },
  );
});
