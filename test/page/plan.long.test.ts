import { expect, test } from 'vitest';
import { PROJECT_URL, TestServer } from '../../src/server/testing/test-server.js';
import { expectAccessible } from './support/accessible.js';
import { HOSTILE_DESCRIPTION, HOSTILE_INSTRUCTIONS } from './support/hostile-text.js';
import { describeInBrowser, viewUrl } from './support/open-page.js';

const PLAN = {
  tracks: {
    A: [
      { id: 'A-001-base', description: 'the base' },
      { id: 'A-002-parser', description: 'reads the input', subtasks: 2 },
    ],
    B: [{ id: 'B-001-docs', description: 'the manual', depends_on: ['A-001-base'] }],
  },
};

/** Tracks A to J with a chain of 100 tasks each. */
function longPlan(): object {
  const tracks: Record<string, object[]> = {};
  for (const track of 'ABCDEFGHIJ')
    tracks[track] = Array.from({ length: 100 }, (_, index) => {
      const id = `${track}-${String(index + 1).padStart(3, '0')}-step`;
      return { id, description: `step ${index + 1} of ${track}` };
    });
  return { tracks };
}

await describeInBrowser('the plan view', (open) => {
  test('draws tasks with their state, holder and generation, and the critical path, as work goes on', async () => {
    const testServer = await TestServer.forTest();
    await testServer.request('PUT', `${PROJECT_URL}/plan`, PLAN);
    const page = await open(viewUrl(testServer.url, 'plan'));
    const node = (id: string) => page.locator('.task-node').filter({ hasText: id });
    await node('A-001-base').getByText('ready').waitFor();
    await node('A-001-base').getByText('critical').waitFor();
    await node('A-002-parser').getByText('0/2 parts').waitFor();
    expect(await node('B-001-docs').getByText('critical').count()).toBe(0);
    await page.getByText('Critical path: 2 tasks').waitFor();

    const handle = await testServer.claim('A-001-base', 's1', { agent_id: 'ada' });
    await node('A-001-base').filter({ hasText: 'claimed' }).filter({ hasText: 'ada' }).waitFor();
    await node('A-001-base').getByText('gen. 1').waitFor();
    await testServer.post(`${PROJECT_URL}/results`, { ...handle, result_data: 1 });
    await node('A-001-base').getByText('completed').waitFor();
    await node('B-001-docs').getByText('ready').waitFor();

    const added = { id: 'B-002-index', description: 'an index' };
    await testServer.post(`${PROJECT_URL}/tasks`, { tasks: [added] });
    await node('B-002-index').getByText('blocked').waitFor();
    await page.getByRole('link', { name: 'B-001-docs' }).click();
    await page.waitForURL(/#\/task\/B-001-docs$/);
  });

  test('lists tasks by a filter that is in the address', async () => {
    const testServer = await TestServer.forTest();
    await testServer.request('PUT', `${PROJECT_URL}/plan`, PLAN);
    await testServer.claim('A-001-base', 's1', { agent_id: 'ada' });
    const page = await open(viewUrl(testServer.url, 'plan'));
    await page.getByRole('link', { name: 'List' }).click();
    await page.getByText('5 of 5').waitFor();
    await page.getByLabel('Text').fill('MANUAL');
    await page.getByText('1 of 5').waitFor();
    await page.getByRole('row').filter({ hasText: 'B-001-docs' }).waitFor();
    await page.getByLabel('Text').fill('');
    await page.getByRole('combobox', { name: 'Agent' }).selectOption('ada');
    await page.getByText('1 of 5').waitFor();
    expect(new URL(page.url()).hash).toBe('#/plan?tab=list&agent=ada');
    expect(new URL(page.url()).search).toBe('?tenant=acme&project=shop');

    const filtered = await open(viewUrl(testServer.url, 'plan?tab=list&sort=id&order=desc&state=blocked'));
    await filtered.getByText('4 of 5').waitFor();
    await filtered.getByRole('row').nth(1).getByText('B-001-docs').waitFor();
    await filtered.getByRole('combobox', { name: 'State' }).selectOption('exhausted');
    await filtered.getByText('No task matches this filter').waitFor();
  });

  test('says what to do when there is no plan', async () => {
    const testServer = await TestServer.forTest();
    await testServer.request('PUT', `${PROJECT_URL}/plan`, { tracks: {} });
    const page = await open(viewUrl(testServer.url, 'plan'));
    await page.getByText('gen plan import FILE').waitFor();
  });

  test('keeps only what is visible of 1,000 tasks in the document', async () => {
    const testServer = await TestServer.forTest();
    await testServer.request('PUT', `${PROJECT_URL}/plan`, longPlan());
    const page = await open(viewUrl(testServer.url, 'plan'));
    const nodes = page.locator('.task-node');
    await nodes.filter({ hasText: 'A-001-step' }).waitFor();
    expect(await nodes.count()).toBeLessThan(200);
    await printTime('zoom of the graph', async () => {
      const before = await nodes.count();
      await page.getByRole('button', { name: 'Zoom Out' }).click();
      await page.waitForFunction(`document.querySelectorAll('.task-node').length > ${before}`);
    });
    await printTime('a claim is shown in the graph', async () => {
      await testServer.claim('A-001-step', 's1', { agent_id: 'ada' });
      await nodes.filter({ hasText: 'A-001-step' }).getByText('ada').waitFor();
    });

    await page.getByRole('link', { name: 'List' }).click();
    await page.getByText('1000 of 1000').waitFor();
    const rows = page.getByRole('row');
    expect(await rows.count()).toBeLessThan(100);
    await page.getByRole('region', { name: 'List of tasks' }).press('End');
    await rows.filter({ hasText: 'J-100-step' }).waitFor();
    await printTime('text filter of the list', async () => {
      await page.getByLabel('Text').fill('f-042');
      await page.getByText('1 of 1000').waitFor();
    });
    expect(await rows.count()).toBe(2);
  });

  test('shows foreign text as it is, in both themes and at the width of a phone', async () => {
    const testServer = await TestServer.forTest();
    const hostile = { description: HOSTILE_DESCRIPTION, instructions: HOSTILE_INSTRUCTIONS };
    const tracks = { ...PLAN.tracks, C: [{ id: 'C-001-hostile', ...hostile }] };
    await testServer.request('PUT', `${PROJECT_URL}/plan`, { tracks });
    await testServer.claim('A-001-base', 's1', { agent_id: 'ada' });
    for (const options of [{ theme: 'light' }, { theme: 'dark', width: 380 }] as const) {
      const page = await open(viewUrl(testServer.url, 'plan'), options);
      await page.locator('.task-node').filter({ hasText: 'C-001-hostile' }).waitFor();
      await expectAccessible(page);
      await page.getByRole('link', { name: 'List' }).click();
      await page.getByText(/<script>.*\\u\{202e\} drawkcab/).waitFor();
      await expectAccessible(page);
      expect(await page.title()).not.toContain('taken over');
    }
  });
});

/** Prints a time for readers. No test checks it, because it also depends on the load of the machine. */
async function printTime(label: string, run: () => Promise<void>): Promise<void> {
  const startMs = performance.now();
  await run();
  console.log(`${label}: ${Math.round(performance.now() - startMs)} ms with 1,000 tasks`);
}
