import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, inject, onTestFinished, test } from 'vitest';
import type * as Fleet from '../../src/cli/demo/fleet.js';
import { Genesis } from '../../src/client/index.js';
import { featureFile } from '../support/workspace-files.js';
import { expectAccessible } from './support/accessible.js';
import { HOSTILE_DESCRIPTION, HOSTILE_INSTRUCTIONS } from './support/hostile-text.js';
import { describeInBrowser } from './support/open-page.js';

const { endProcess, startDemoServer } = (await import(
  join(inject('built'), 'dist/cli/demo/fleet.js')
)) as typeof Fleet;

const PROJECT = 'shop';
const [HOSTILE_TASK, LATE_TASK, REVIEWED_TASK, LAST_TASK] = [
  'A-001-hostile',
  'B-001-late',
  'C-001-reviewed',
  'D-001-last',
];
const EDGE = 'REQ-F-A#design_code';
const DIGEST = 'a'.repeat(64);
const HOSTILE_SHOWN = `<script>document.title='taken over'</script>`;
const PLAN = {
  tracks: {
    A: [{ id: HOSTILE_TASK, description: HOSTILE_DESCRIPTION, instructions: HOSTILE_INSTRUCTIONS }],
    B: [{ id: LATE_TASK, description: 'is taken over' }],
    C: [{ id: REVIEWED_TASK, description: 'waits for a person' }],
    D: [{ id: LAST_TASK, description: 'is claimed while the page is cut off' }],
  },
};
const FILES = {
  'engine.yml': 'construct: { type: command, command: [make] }\n',
  'features/active/REQ-F-A.yml': featureFile('REQ-F-A').replace(
    /title: .*/,
    `title: ${JSON.stringify(HOSTILE_DESCRIPTION.slice(0, 200))}`,
  ),
};

/** A server process with a workspace, a plan and a second project. */
async function startShop() {
  const folder = await mkdtemp(join(tmpdir(), 'story-'));
  let server = await startDemoServer(folder);
  onTestFinished(async () => {
    await endProcess(server);
    await rm(folder, { recursive: true, force: true });
  });
  const genesis = new Genesis({ url: server.url, project: PROJECT, outbox: join(folder, 'outbox') });
  expect(await genesis.methodology.init({ files: FILES })).toMatchObject({ success: true });
  expect(await genesis.putPlan(PLAN)).toMatchObject({ task_count: 4 });
  await new Genesis({ url: server.url, project: 'other', outbox: join(folder, 'outbox') }).putPlan({
    tracks: { A: [{ id: 'A-001-x', description: 'x' }] },
  });
  return {
    genesis,
    url: server.url,
    viewUrl: (view: string) => `${server.url}/?project=${PROJECT}#/${view}`,
    kill: () => endProcess(server, 'SIGKILL'),
    async startAgain() {
      server = await startDemoServer(folder, server.port);
    },
  };
}
type Shop = Awaited<ReturnType<typeof startShop>>;

/** An agent that claims a task, and submits its result when it is told to. */
async function claim(genesis: Genesis, task_id: string, agent_id: string, more: object = {}) {
  const session_id = `s-${agent_id}`;
  const reply = await genesis.claimTask({ task_id, agent_id, session_id, ...more });
  if (!('claim' in reply) || !reply.success) throw new Error(JSON.stringify(reply));
  const { id: claim_id, generation } = reply.claim;
  const handle = { task_id, session_id, claim_id, generation };
  return { handle, submit: (result_data: unknown) => genesis.submitResult({ ...handle, result_data }) };
}

const goTo = (page: Page, name: string) =>
  page
    .getByRole('navigation', { name: 'Views' })
    .getByRole('link', { name: new RegExp(`^${name}`) })
    .click();
const waitUntilLive = (page: Page) => page.getByRole('status').getByText('live', { exact: true }).waitFor();

async function followTask(page: Page, { genesis }: Shop): Promise<void> {
  const ada = await claim(genesis, HOSTILE_TASK, 'ada');
  await page.getByText('ada').first().waitFor();
  await goTo(page, 'Plan');
  const node = page.locator('.task-node').filter({ hasText: HOSTILE_TASK });
  await node.getByText('claimed').waitFor();
  await page.getByRole('link', { name: 'List' }).click();
  await page.getByText('4 of 4').waitFor();
  await page.getByRole('link', { name: HOSTILE_TASK }).click();
  await page.getByText(HOSTILE_SHOWN, { exact: false }).first().waitFor();
  await ada.submit('done by ada');
  await page.getByRole('region', { name: 'Result', exact: true }).getByText('done by ada').waitFor();
}

async function adoptParked(page: Page, { genesis, viewUrl }: Shop): Promise<void> {
  const ben = await claim(genesis, LATE_TASK, 'ben');
  await genesis.operate(LATE_TASK, 'force_release', { expected_generation: 1, reason: HOSTILE_DESCRIPTION });
  await claim(genesis, LATE_TASK, 'cleo');
  await page.goto(viewUrl(`task/${LATE_TASK}`));
  expect(await ben.submit('late but good')).toMatchObject({ reason: 'STALE_GENERATION' });
  const refused = page.getByRole('region', { name: 'Refused submissions' });
  await refused.getByRole('button', { name: /^Adopt/ }).click();
  await page.getByRole('dialog').getByLabel('Reason').fill('It is complete.');
  await page.getByRole('dialog').getByRole('button', { name: 'Adopt' }).click();
  await page.getByRole('region', { name: 'Result', exact: true }).getByText('late but good').waitFor();
}

async function answerReview(page: Page, { genesis }: Shop): Promise<void> {
  await goTo(page, 'Inbox');
  await page.getByText('Nothing waits for you').waitFor();
  const { handle } = await claim(genesis, REVIEWED_TASK, 'dan');
  const { generation, ...held } = handle;
  const candidate = { iteration: 1, candidate_sha256: DIGEST };
  expect(
    await genesis.suspendClaim({ ...held, expected_generation: generation, ...candidate }),
  ).toMatchObject({
    reason: 'SUSPENDED',
  });
  const card = page.getByRole('article', { name: `Review ${REVIEWED_TASK}` });
  await card.getByText(DIGEST).waitFor();
  await page.waitForFunction("document.title.startsWith('(1) ')");
  await card.getByLabel('Comment').fill('Reads well.');
  await card.getByRole('button', { name: 'Approve' }).click();
  await page.getByText(`Approve: ${REVIEWED_TASK}, generation 1`).waitFor();
  await card.waitFor({ state: 'detached' });
  await page.waitForFunction("document.title.startsWith('shop')");
}

/** Requests a run on the page, and follows its executor. */
async function followRun(page: Page, { genesis }: Shop): Promise<string> {
  await goTo(page, 'Runs');
  await page.getByLabel('Edge to run').selectOption(EDGE);
  await page.getByRole('button', { name: 'Request a run' }).click();
  await page.getByText('The run waits for an executor').waitFor();
  const run_id = /runs\/([0-9a-f-]+)/.exec(page.url())?.[1] as string;
  const { handle } = await claim(genesis, EDGE, 'engine', { agent_role: 'full_stack' });
  const append = async (event_type: string, payload: object) => {
    const event = { ...handle, agent_id: 'engine', event_type, payload: { run_id, ...payload } };
    expect(await genesis.appendEvent(event)).not.toHaveProperty('detail');
  };
  const machine = { bucket: '', key: DIGEST, version: DIGEST };
  const digests = { machine_sha256: DIGEST, config_sha256: DIGEST };
  await append('run_started', { workflow_type: 'STANDARD', machine, ...digests });
  const step = { step: 'construct_candidate', iteration: 1, input_sha256: DIGEST, attempt: 1 };
  await append('run_step_started', step);
  await page.getByRole('button', { name: /ConstructCandidate running/ }).waitFor();
  await append('run_step_failed', {
    ...step,
    ...{ duration_ms: 20, error: 'Engine.Failed', cause: HOSTILE_DESCRIPTION.slice(0, 2000) },
  });
  await page.getByRole('button', { name: /ConstructCandidate failed/ }).waitFor();
  await page.getByText(HOSTILE_SHOWN, { exact: false }).first().waitFor();
  return run_id;
}

async function surviveRestart(page: Page, { genesis, kill, startAgain }: Shop): Promise<void> {
  await goTo(page, 'Fleet');
  await waitUntilLive(page);
  await kill();
  await page.getByRole('status').getByText('reconnecting', { exact: false }).waitFor();
  // The page learns of the claim only after it has reconnected.
  await page.route('**/api/**', (route) => route.abort());
  await startAgain();
  await claim(genesis, LAST_TASK, 'eve');
  await page.unroute('**/api/**');
  await waitUntilLive(page);
  await page.getByText('eve').first().waitFor();
}

await describeInBrowser('the page', (open) => {
  test('shows the whole work of a fleet, also after its server was killed', {
    timeout: 240_000,
  }, async () => {
    const fleet = await startShop();
    const page = await open(fleet.url);
    await page.getByRole('heading', { name: 'Projects' }).waitFor();
    await page.getByRole('link', { name: PROJECT }).click();
    await waitUntilLive(page);
    await followTask(page, fleet);
    await adoptParked(page, fleet);
    await answerReview(page, fleet);
    const runId = await followRun(page, fleet);
    await goTo(page, 'Features');
    await page.getByText(HOSTILE_SHOWN, { exact: false }).first().waitFor();
    await goTo(page, 'Log');
    await page.getByText('RESULT_ADOPTED').first().waitFor();
    await surviveRestart(page, fleet);

    const reason = HOSTILE_DESCRIPTION;
    await fleet.genesis.operate(LAST_TASK, 'hold', { reason, expected_generation: 1 });
    const views = [
      ['', 'Fleet'],
      ['plan', 'Plan'],
      ['plan?tab=list', 'Plan'],
      [`task/${HOSTILE_TASK}`, HOSTILE_TASK],
      ['inbox', 'Inbox'],
      ['runs', 'Runs'],
      [`runs/${runId}`, /^Run/],
      ['features', 'Features'],
      ['log', 'Log'],
    ] as const;
    for (const theme of ['light', 'dark'] as const) {
      const phone = await open(fleet.url, { width: 380, height: 800, theme });
      await phone.getByRole('heading', { name: 'Projects' }).waitFor();
      await expectAccessible(phone);
      for (const [view, name] of views) {
        await phone.goto(fleet.viewUrl(view));
        await phone.getByRole('heading', { level: 1, name }).waitFor();
        await waitUntilLive(phone);
        await expectAccessible(phone);
        expect(await phone.title()).toContain(PROJECT);
      }
      await phone.goto(`${fleet.url}/docs#/status/status`);
      await phone.getByRole('button', { name: 'Execute' }).waitFor();
      await expectAccessible(phone, ['nested-interactive']);
    }
  });
});
