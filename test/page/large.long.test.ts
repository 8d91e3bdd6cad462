import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { BENCH_CHAINS, BENCH_TRACKS } from '../../bench/page/project.js';
import { PROJECT_URL, TestServer } from '../../src/server/testing/test-server.js';
import { describeInBrowser, viewUrl } from './support/open-page.js';

const EVENTS = 10_000;
const BATCH = 1000;
const HOLDERS = 50;
/** Limit for the document of a view, whatever the size of the project. */
const ELEMENTS_MAX = 2500;

const pastEvent = (index: number) => ({
  event_id: `0d3e6a52-6d0b-8d5e-9a55-${String(index).padStart(12, '0')}`,
  event_type: 'moon_phase',
  timestamp: new Date(Date.UTC(2025, 0, 1) + index * 60_000).toISOString(),
  agent_id: 'moon',
  payload: { phase: index, imported: { source: 'old.jsonl', line: index + 1 } },
});

/** 1,000 tasks, 50 of them claimed by an agent each, and 10,000 events before the claims. */
async function largeProject(): Promise<TestServer> {
  const testServer = await TestServer.forTest();
  await testServer.request('PUT', `${PROJECT_URL}/plan`, { tracks: BENCH_TRACKS });
  for (let from = 0; from < EVENTS; from += BATCH) {
    const events = Array.from({ length: BATCH }, (_, index) => pastEvent(from + index));
    expect((await testServer.post(`${PROJECT_URL}/events/import`, { events })).body.written).toBe(BATCH);
  }
  for (const [index, [first]] of BENCH_CHAINS.slice(0, HOLDERS).entries())
    await testServer.claim(first as string, `s${index}`, { agent_id: `agent-${index}` });
  return testServer;
}

const countElements = (page: Page) => page.evaluate<number>("document.querySelectorAll('*').length");

await describeInBrowser('a project of 1,000 tasks and 10,000 events', (open) => {
  test('is shown whole by every view that lists it, with few elements in the document', async () => {
    const testServer = await largeProject();
    const end = (await testServer.get(`${PROJECT_URL}/status`)).body.position as number;

    const fleet = await open(viewUrl(testServer.url));
    await fleet.getByText('0 of 1000 done').waitFor();
    await fleet.getByText('50 claimed', { exact: true }).waitFor();
    await fleet.getByRole('row').filter({ hasText: 'agent-49' }).waitFor();
    await fleet.getByRole('progressbar', { name: 'Track J: 0 of 100 done' }).waitFor();
    expect(await countElements(fleet)).toBeLessThan(ELEMENTS_MAX);

    const plan = await open(viewUrl(testServer.url, 'plan'));
    await plan.getByText('Critical path: 20 tasks').waitFor();
    await plan.locator('.task-node').filter({ hasText: 'A-001-step' }).getByText('agent-0').waitFor();
    expect(await countElements(plan)).toBeLessThan(ELEMENTS_MAX);

    await plan.getByRole('link', { name: 'List' }).click();
    await plan.getByText('1000 of 1000').waitFor();
    await plan.getByRole('row').filter({ hasText: 'A-001-step' }).getByText('agent-0').waitFor();
    await plan.getByRole('region', { name: 'List of tasks' }).press('End');
    await plan.getByRole('row').filter({ hasText: 'J-100-step' }).waitFor();
    expect(await plan.getByRole('row').count()).toBeLessThan(60);
    expect(await countElements(plan)).toBeLessThan(ELEMENTS_MAX);
    await plan.getByRole('combobox', { name: 'State' }).selectOption('claimed');
    await plan.getByText('50 of 1000').waitFor();

    const log = await open(viewUrl(testServer.url, 'log'));
    const rows = log.getByRole('region', { name: 'Events' }).getByRole('listitem');
    await rows.first().getByText(String(end), { exact: true }).waitFor();
    await scrollToOldest(log);
    await rows.last().getByText('PLAN_CHANGED').waitFor();
    await log.getByText(`${end} events, new ones appear at the top`).waitFor();
    expect(await rows.count()).toBeLessThan(60);
    expect(await countElements(log)).toBeLessThan(ELEMENTS_MAX);

    await log.getByLabel('Position').fill('5000');
    await log.getByText('State at position 5000').waitFor();
    await log.getByText('0 of 1000 done, 0 in progress').waitFor();
    await rows.filter({ hasText: '5000' }).first().waitFor();
    await log.getByText(/up to position 5000/).waitFor();
    expect(await countElements(log)).toBeLessThan(ELEMENTS_MAX);
  });
});

/** Scrolls down page by page until no older events are left to read. */
async function scrollToOldest(page: Page): Promise<void> {
  const isAtOldest = `(() => {
    const box = document.querySelector('.log-scroll');
    box.scrollTop = box.scrollHeight;
    const hasMore = [...document.querySelectorAll('button')].some(({ textContent }) => /older events/.test(textContent));
    return !hasMore && box.scrollTop + box.clientHeight >= box.scrollHeight - 1;
  })()`;
  await expect.poll(() => page.evaluate(isAtOldest), { timeout: 60_000 }).toBe(true);
}
