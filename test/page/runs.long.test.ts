import { expect, test } from 'vitest';
import { PROJECT_URL, TestServer } from '../../src/server/testing/test-server.js';
import { featureFile } from '../support/workspace-files.js';
import { expectAccessible, expectNotCut } from './support/accessible.js';
import { putText } from './support/blob.js';
import { describeInBrowser, viewUrl } from './support/open-page.js';

const FEATURE = 'REQ-F-A';
/** Wider than a phone. */
const LONG_ID = 'REQ-F-PAYMENT-GATEWAY-WITH-INVOICES-001';
const SUBJECT = `${FEATURE}#design_code`;
const SHA = 'a'.repeat(64);
const COST = { input_tokens: 1000, output_tokens: 200, usd: 0.5, seconds: 1 };
const FILES = {
  'engine.yml': 'construct: { type: command, command: [make] }\n',
  [`features/active/${FEATURE}.yml`]: featureFile(FEATURE),
  [`features/active/${LONG_ID}.yml`]: featureFile(LONG_ID),
};
const HOSTILE = `<img src=x onerror=alert(1)>\u202e${'x'.repeat(500)}`;

async function openProject(): Promise<TestServer> {
  const testServer = await TestServer.forTest();
  await post(testServer, '/api/init', { files: FILES });
  return testServer;
}

async function post(testServer: TestServer, path: string, body: object) {
  const tenant = { 'x-genesis-tenant': 'acme' };
  const reply = await testServer.request('POST', path, { project_id: 'shop', ...body }, tenant);
  expect(reply.status).toBe(200);
  return reply.body;
}

const requestRun = async (testServer: TestServer): Promise<string> =>
  (await post(testServer, '/api/iterate', { feature_id: FEATURE, edge: 'design_code' })).run.run_id;

/** An executor that holds the edge and has started the run. */
async function startRun(testServer: TestServer, run_id: string) {
  const handle = await testServer.claim(SUBJECT, 's-engine', { agent_role: 'full_stack' });
  const append = async (event_type: string, payload: object) => {
    const event = { ...handle, agent_id: 'alpha', event_type, payload: { run_id, ...payload } };
    expect(await testServer.post(`${PROJECT_URL}/events`, event)).toMatchObject({ status: 200 });
  };
  const machine = { bucket: '', key: SHA, version: SHA };
  const digests = { machine_sha256: SHA, config_sha256: SHA };
  await append('run_started', { workflow_type: 'STANDARD', machine, ...digests });
  const stepOf = (step: string, iteration: number) => ({ step, iteration, input_sha256: SHA, attempt: 1 });
  return {
    begin: (step: string, iteration: number) => append('run_step_started', stepOf(step, iteration)),
    complete: (step: string, iteration: number, result: object = { output: {} }) =>
      append('run_step_completed', { ...stepOf(step, iteration), duration_ms: 1500, cost: COST, ...result }),
    fail: (step: string, iteration: number, cause: string) =>
      append('run_step_failed', {
        ...stepOf(step, iteration),
        ...{ duration_ms: 20, error: 'Engine.Failed', cause },
      }),
  };
}

/** One iteration with a failing check, and a second that constructs. */
async function twoIterations(testServer: TestServer) {
  const runId = await requestRun(testServer);
  const executor = await startRun(testServer, runId);
  for (const step of ['claim_edge', 'load_config', 'load_context']) await executor.complete(step, 1);
  const version = await putText(testServer, '{"says":"made of blobs"}');
  await executor.complete('construct_candidate', 1, { output_ref: { bucket: '', key: version, version } });
  await executor.complete('run_check tests_pass', 1, { output: { result: 'fail', says: HOSTILE } });
  await executor.complete(`judge_check ${'y'.repeat(200)}`, 1, { output: { result: 'pass' } });
  await executor.complete('judge_iteration', 1, { output: { outcome: 'LOOP', delta: 7 } });
  await executor.begin('construct_candidate', 2);
  return { runId, executor };
}

await describeInBrowser('the view of runs', (open) => {
  test('says how to start a run, lists runs live, and filters them by the status in the address', async () => {
    const testServer = await openProject();
    const page = await open(viewUrl(testServer.url, 'runs'));
    await page.getByText('gen iterate FEATURE#EDGE').waitFor();
    const runId = await requestRun(testServer);
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: `Run ${runId}` }) });
    await row.getByText('REQUESTED').waitFor();
    await page.getByLabel('Status').selectOption('FAILED');
    await page.getByText('No runs with the status FAILED').waitFor();
    expect(page.url()).toContain('#/runs?status=FAILED');
    await page.getByLabel('Status').selectOption('REQUESTED');
    await row.getByRole('link', { name: `Run ${runId}` }).click();
    await page.getByText('The run waits for an executor').waitFor();
  });

  test('draws the machine with its current and its failed state, outputs and checks', async () => {
    const testServer = await openProject();
    const { runId, executor } = await twoIterations(testServer);
    const page = await open(viewUrl(testServer.url, `runs/${runId}`));
    const states = page.getByRole('list', { name: 'States' });
    await states.getByRole('button', { name: /ConstructCandidate running/ }).waitFor();
    expect(await states.locator('[aria-current=step]').textContent()).toContain('ConstructCandidate');
    await executor.fail('construct_candidate', 2, 'the model is down');
    await states.getByRole('button', { name: /ConstructCandidate failed/ }).waitFor();
    await page.getByText('the model is down').waitFor();

    await page.getByRole('combobox', { name: 'Iteration' }).selectOption('1');
    await states.getByRole('button', { name: /ConstructCandidate/ }).click();
    const detail = page.getByRole('region', { name: 'ConstructCandidate' });
    await detail.getByText('Output, stored as a blob').click();
    await detail.getByText('made of blobs').waitFor();
    await detail.getByText('Input').click();
    await detail.getByText(SHA).waitFor();
    await detail.getByText('$0.50, 1,200 tokens').waitFor();
    await states.getByRole('button', { name: /DeterministicChecks/ }).click();
    await page.getByRole('region', { name: 'DeterministicChecks' }).getByText('Output').click();
    await page.getByText('"result": "fail"').waitFor();
    expect(page.url()).toContain('iteration=1&state=DeterministicChecks');

    const grid = page.getByRole('region', { name: 'Results of the checks' });
    const cells = (name: RegExp) => grid.getByRole('row', { name }).getByRole('cell').allTextContents();
    expect(await cells(/tests_pass/)).toEqual(['fail', '–']);
    expect(await cells(/delta/)).toEqual(['7', '–']);
  });

  test('cancels a run with a reason', async () => {
    const testServer = await openProject();
    const { runId } = await twoIterations(testServer);
    const page = await open(viewUrl(testServer.url, `runs/${runId}`));
    await page.getByRole('button', { name: 'Cancel the run…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('wrong edge');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Cancel the run' }).click();
    await page.getByText('CANCELLED', { exact: true }).waitFor();
    await page.getByText('wrong edge').waitFor();
    await page.getByRole('button', { name: /ConstructCandidate stopped/ }).waitFor();
    await page.getByText(`gen runs retry ${runId}`).waitFor();
    expect(await page.getByRole('button', { name: 'Cancel the run…' }).count()).toBe(0);
  });

  test.for([
    ['light', 1280],
    ['dark', 1280],
    ['light', 380],
    ['dark', 380],
  ] as const)('is accessible in %s at %i px', async ([theme, width]) => {
    const testServer = await openProject();
    const { runId } = await twoIterations(testServer);
    const page = await open(viewUrl(testServer.url, 'runs'), { theme, width });
    await page.getByRole('link', { name: `Run ${runId}` }).waitFor();
    await expectAccessible(page);
    await expectNotCut(page.getByRole('region', { name: 'Runs' }));
    await page.getByRole('link', { name: `Run ${runId}` }).click();
    await page.getByRole('button', { name: /DeterministicChecks/ }).click();
    await page.getByRole('combobox', { name: 'Iteration' }).selectOption('1');
    await page.getByRole('region', { name: 'DeterministicChecks' }).getByText('Output').click();
    await expectAccessible(page);
  });
});
