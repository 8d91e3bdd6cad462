import { expect, onTestFinished, test } from 'vitest';
import { startKeptDemo } from '../support/kept-demo.js';
import { expectAccessible } from './support/accessible.js';
import { describeInBrowser } from './support/open-page.js';

/** Long, because each agent starts from source, in its own process. */
const STORY_TIMEOUT_MS = 300_000;
const AFTERWARDS_TIMEOUT_MS = 30_000;

/** What the terminal says of a fault: agent and task. */
function faultIn(output: string, verb: string): { agent: string; task: string } {
  const [, agent, task] = new RegExp(`(\\w+) is ${verb} while working on (\\S+)`).exec(output) ?? [];
  if (agent === undefined || task === undefined) throw new Error(`no agent was ${verb}: ${output}`);
  return { agent, task };
}

await describeInBrowser('the page of a kept demo', (open) => {
  test('tells the story of the demo, while it runs and afterwards', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const demo = await startKeptDemo();
    onTestFinished(() => demo.stop());
    const page = await open(demo.pageUrl);
    page.setDefaultTimeout(STORY_TIMEOUT_MS / 2);
    await page.getByText('live', { exact: true }).waitFor();
    await page.getByRole('row').filter({ hasText: 'active' }).filter({ hasText: 'left' }).first().waitFor();

    const output = await demo.ended;
    page.setDefaultTimeout(AFTERWARDS_TIMEOUT_MS);
    const killed = faultIn(output, 'killed');
    const frozen = faultIn(output, 'frozen');
    const feedEntry = (text: string | RegExp) =>
      page
        .getByRole('log', { name: 'What happened' })
        .getByRole('listitem')
        .filter({ hasText: text })
        .first();
    const waitForExpiry = ({ agent, task }: typeof killed, signal: string) =>
      feedEntry(
        new RegExp(`${agent} went silent: its lease on ${task} has expired .*\\(${signal}\\)`),
      ).waitFor();
    const takeoverEntry = ({ agent, task }: typeof killed) =>
      feedEntry(
        new RegExp(`\\w+ took over ${task} from ${agent}, whose lease had expired \\(generation 2\\)`),
      );
    await waitForExpiry(killed, 'SIGKILL');
    await waitForExpiry(frozen, 'SIGSTOP');
    await takeoverEntry(killed).waitFor();
    await takeoverEntry(frozen).waitFor();
    await page.getByRole('row').filter({ hasText: killed.agent }).getByText('gone').waitFor();
    await page.getByText('15 of 15 done').waitFor();
    await page.getByText('Every task has one accepted result.').waitFor();

    const refused = `the late result of ${frozen.agent} for ${frozen.task} was refused (STALE_GENERATION)`;
    await feedEntry(refused).getByText('can be adopted').waitFor();
    await page.getByRole('link', { name: 'Everything' }).click();
    await feedEntry(/the plan was imported: 12 tasks/).waitFor();
    await feedEntry(/finished D-003-guide/).waitFor();
    await expectAccessible(page);

    await feedEntry(refused).getByRole('link').click();
    const submissions = page.getByRole('region', { name: 'Refused submissions' });
    await submissions.getByText('parked', { exact: true }).waitFor();
    await submissions.getByRole('button', { name: /adopt res_/ }).waitFor();
    await page.getByRole('img', { name: /^Generation 1: EXPIRED, continued after its claim/ }).waitFor();
    await page.getByRole('row').filter({ hasText: 'ACCEPTED' }).waitFor();

    await page.getByRole('link', { name: 'Fleet', exact: true }).click();
    await page.getByRole('button', { name: 'Verify the log' }).click();
    await page
      .getByRole('status')
      .filter({ hasText: /^valid \d+ events/ })
      .waitFor();
    expect(output).toContain('gen verify: valid');

    await page.getByRole('link', { name: /^Inbox/ }).click();
    await page.getByRole('button', { name: /^Reset and adopt res_/ }).click();
    await page.getByRole('dialog').getByLabel('Reason').fill('The late result is better.');
    await page.getByRole('dialog').getByRole('button', { name: 'Reset and adopt' }).click();
    await page.getByText('Nothing waits for you').waitFor();
  });
});
