import { existsSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { build } from 'vite';
import { BROWSER_MISSING, launchBrowser } from '../../test/page/support/browser.js';
import { benchFirstView } from './first-view.js';
import { BenchFleet } from './fleet.js';
import { benchInteractions } from './interaction-table.js';
import { benchMemory } from './memory.js';
import { startPageServer } from './server.js';

/**
 * Measures the page in a real browser and prints the results; asserts nothing about time.
 *
 * `npm run bench:page [-- --only first-view|interactions|memory] [-- --minutes N]`
 */
const optionValue = (option: string): string | null => {
  const index = process.argv.indexOf(option);
  return index < 0 ? null : (process.argv[index + 1] ?? null);
};
const minutes = Number(optionValue('--minutes') ?? 10);
/** Events per second of fifty agents. Memory is measured with six times as many, so that ten minutes have those of an hour. */
const EVENTS_PER_SECOND = 10;

interface PagePart {
  /** Events per second while the part runs. */
  readonly perSecond: number;
  run(browser: Browser, url: string): Promise<void>;
}
const PARTS: Readonly<Record<string, PagePart>> = {
  'first-view': { perSecond: EVENTS_PER_SECOND, run: benchFirstView },
  interactions: { perSecond: EVENTS_PER_SECOND, run: benchInteractions },
  memory: { perSecond: 6 * EVENTS_PER_SECOND, run: (browser, url) => benchMemory(browser, url, minutes) },
};

if (BROWSER_MISSING !== null) throw new Error(BROWSER_MISSING);
if (!existsSync('src/server/page/assets/index.html'))
  await build({ configFile: 'dashboard/vite.config.ts', logLevel: 'warn' });
const server = await startPageServer();
const browser = await launchBrowser();
const fleet = new BenchFleet(server.url);
await fleet.putPlan();
const only = optionValue('--only');
for (const [name, part] of Object.entries(PARTS)) {
  if (only !== null && only !== name) continue;
  const stopController = new AbortController();
  const eventCount = fleet.playSteps(part.perSecond, stopController.signal);
  try {
    await Promise.race([part.run(browser, server.url), eventCount]);
  } finally {
    stopController.abort();
  }
  console.log(`${await eventCount} events arrived meanwhile`);
}
await browser.close();
await server.stop();
