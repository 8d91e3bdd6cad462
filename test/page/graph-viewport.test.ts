import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { PROJECT_URL, TestServer } from '../../src/server/testing/test-server.js';
import { describeInBrowser, viewUrl } from './support/open-page.js';

const PLAN = {
  tracks: {
    A: [{ id: 'A-001-base', description: 'the base' }],
    B: [{ id: 'B-001-docs', description: 'the manual', depends_on: ['A-001-base'] }],
    C: [{ id: 'C-001-api', description: 'the interface' }],
    D: [{ id: 'D-001-cli', description: 'the commands' }],
  },
};

const nodeOf = (page: Page, id: string) => page.locator('.task-node').filter({ hasText: id });
const transform = (page: Page) =>
  page.evaluate<string>("document.querySelector('.react-flow__viewport').style.transform");

async function openGraph(open: (url: string) => Promise<Page>) {
  const testServer = await TestServer.forTest();
  await testServer.request('PUT', `${PROJECT_URL}/plan`, PLAN);
  const page = await open(viewUrl(testServer.url, 'plan'));
  await nodeOf(page, 'A-001-base').getByText('ready').waitFor();
  return { testServer, page };
}

await describeInBrowser('the viewport of the plan graph', (open) => {
  test('is dragged from any part of a task, also when events arrive while the button is pressed', async () => {
    const { testServer, page } = await openGraph(open);
    const node = nodeOf(page, 'A-001-base');
    const parts = [
      { part: node.getByRole('link'), taskId: 'A-001-base' },
      { part: node.locator('.task-id'), taskId: 'C-001-api' },
      { part: node, taskId: 'D-001-cli' },
    ];
    for (const { part, taskId } of parts) {
      const before = await transform(page);
      const box = await part.boundingBox();
      if (box === null) throw new Error('The task is not shown.');
      await page.mouse.move(box.x + box.width - 4, box.y + box.height / 2);
      await page.mouse.down();
      await testServer.claim(taskId, taskId, { agent_id: 'ada' });
      await nodeOf(page, taskId).getByText('ada').waitFor();
      expect(await transform(page)).toBe(before);
      await page.mouse.move(box.x + box.width + 30, box.y + 40);
      await expect.poll(() => transform(page)).not.toBe(before);
      await page.mouse.up();
      expect(new URL(page.url()).hash).toBe('#/plan');
    }
    await node.getByRole('link').click();
    await page.waitForURL(/#\/task\/A-001-base$/);
  });

  test('is moved by the arrow keys', async () => {
    const { page } = await openGraph(open);
    const x = async () => Number(/translate\((-?[\d.]+)px/.exec(await transform(page))?.[1]);
    const before = await x();
    await page.getByRole('region', { name: 'Graph of the plan' }).focus();
    await page.keyboard.press('ArrowRight');
    await expect.poll(x).toBe(before - 120);
    await page.keyboard.press('ArrowLeft');
    await expect.poll(x).toBe(before);
  });

  test('is prepared while the list is shown', async () => {
    const { testServer } = await openGraph(open);
    const page = await open(viewUrl(testServer.url, 'plan?tab=list'));
    await nodeOf(page, 'A-001-base').waitFor({ state: 'attached' });
    expect(await nodeOf(page, 'A-001-base').isVisible()).toBe(false);
    await page.getByRole('link', { name: 'Graph', exact: true }).click();
    await nodeOf(page, 'A-001-base').getByText('ready').waitFor();
    const box = await nodeOf(page, 'D-001-cli').boundingBox();
    const graph = await page.getByRole('region', { name: 'Graph of the plan' }).boundingBox();
    if (graph === null || box === null) throw new Error('The graph is not shown.');
    expect(box.y + box.height).toBeLessThan(graph.y + graph.height);
  });

  test('is not covered by its buttons', async () => {
    const { page } = await openGraph(open);
    const graph = await page.getByRole('region', { name: 'Graph of the plan' }).boundingBox();
    const button = await page.getByRole('button', { name: 'Show the whole plan' }).boundingBox();
    if (graph === null || button === null) throw new Error('The graph is not shown.');
    expect(button.y + button.height).toBeLessThanOrEqual(graph.y);
  });

  test('stays where a person moved it when tasks and the plan change, and while the list is shown', async () => {
    const { testServer, page } = await openGraph(open);
    const first = await transform(page);
    await page.getByRole('button', { name: 'Zoom Out' }).click();
    await expect.poll(() => transform(page)).not.toBe(first);
    await page.mouse.move(700, 520);
    await page.mouse.down();
    await page.mouse.move(760, 480);
    await page.mouse.up();
    // The transition of the zoom button may still be under way; the drag ends it.
    const chosen = await transform(page);

    const handle = await testServer.claim('A-001-base', 's1', { agent_id: 'ada' });
    await nodeOf(page, 'A-001-base').getByText('ada').waitFor();
    await testServer.post(`${PROJECT_URL}/results`, { ...handle, result_data: 1 });
    await nodeOf(page, 'B-001-docs').getByText('ready').waitFor();
    const added = { id: 'B-002-index', description: 'an index' };
    await testServer.post(`${PROJECT_URL}/tasks`, { tasks: [added] });
    await nodeOf(page, 'B-002-index').waitFor();
    expect(await transform(page)).toBe(chosen);

    await page.getByRole('link', { name: 'List', exact: true }).click();
    await nodeOf(page, 'B-002-index').waitFor({ state: 'hidden' });
    await page.getByRole('link', { name: 'Graph', exact: true }).click();
    await nodeOf(page, 'B-002-index').waitFor();
    expect(await transform(page)).toBe(chosen);
  });
});
