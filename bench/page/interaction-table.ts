import type { Browser, Page } from 'playwright-core';
import { millisText, table } from '../table.js';
import { PAGE_QUERY } from './fleet.js';
import { INTERACTION_GROUPS, type InteractionGroup } from './interactions.js';
import { type InteractionTimes, measure } from './probe.js';
import { Renderer } from './renderer.js';

/** Measures how long the page takes to react, with 1,000 tasks in the plan. */
export async function benchInteractions(browser: Browser, url: string): Promise<void> {
  const measured = new Map<string, InteractionTimes[]>();
  for (const group of INTERACTION_GROUPS) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await page.goto(`${url}/${PAGE_QUERY}#/${group.address}`);
    await measureGroup(page, group, measured);
  }
  console.log('\nInteraction with 1,000 tasks, while 10 events per second arrive (milliseconds)\n');
  const head = [
    'interaction',
    'times',
    'next frame p50',
    'max',
    'result shown p50',
    'max',
    'CPU p50',
    'script',
    'layout',
  ];
  console.log(
    table(
      head,
      [...measured].map(([name, rows]) => tableRow(name, rows)),
    ),
  );
}

async function measureGroup(
  page: Page,
  group: InteractionGroup,
  measured: Map<string, InteractionTimes[]>,
): Promise<void> {
  await group.start?.(page);
  const renderer = await Renderer.attachTo(page);
  for (let round = 0; round < group.rounds; round++) {
    for (const interaction of group.interactions) {
      const rows = measured.get(interaction.name) ?? [];
      measured.set(interaction.name, rows);
      rows.push(await measure(page, renderer, interaction, round));
    }
    await group.reset?.(page);
  }
}

function tableRow(name: string, rows: readonly InteractionTimes[]): string[] {
  const sortedBy = (read: (each: InteractionTimes) => number) => rows.map(read).sort((a, b) => a - b);
  const medianText = (read: (each: InteractionTimes) => number) =>
    millisText(sortedBy(read)[Math.floor(rows.length / 2)] ?? 0);
  const highestText = (read: (each: InteractionTimes) => number) => millisText(sortedBy(read).at(-1) ?? 0);
  return [
    name,
    String(rows.length),
    medianText(({ paint_ms }) => paint_ms),
    highestText(({ paint_ms }) => paint_ms),
    medianText(({ shown_ms }) => shown_ms),
    highestText(({ shown_ms }) => shown_ms),
    medianText(({ cpu }) => cpu.task),
    medianText(({ cpu }) => cpu.script),
    medianText(({ cpu }) => cpu.layout),
  ];
}
