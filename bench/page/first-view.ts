import type { Browser, BrowserContext } from 'playwright-core';
import { millisText, table } from '../table.js';
import { PAGE_QUERY } from './fleet.js';

const ROUNDS = 5;

interface PageLoad {
  readonly paint_ms: number;
  readonly shown_ms: number;
  /** Bytes as sent over the network. */
  readonly file_bytes: number;
  readonly reply_bytes: number;
  readonly requests: number;
}

/** Measures how much the first view loads, and when it is shown. */
export async function benchFirstView(browser: Browser, url: string): Promise<void> {
  const cold: PageLoad[] = [];
  const warm: PageLoad[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    cold.push(await loadPage(context, url));
    warm.push(await loadPage(context, url));
    await context.close();
  }
  console.log(`\nFirst view: the fleet of a project with 1,000 tasks, loaded ${ROUNDS} times each way\n`);
  const head = [
    'cache',
    'files KB',
    'replies KB',
    'requests',
    'first paint ms',
    'max',
    'fleet shown ms',
    'max',
  ];
  console.log(table(head, [tableRow('cold', cold), tableRow('warm', warm)]));
}

async function loadPage(context: BrowserContext, url: string): Promise<PageLoad> {
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send('Network.enable');
  const files = new Set<string>();
  let [file_bytes, reply_bytes, requests] = [0, 0, 0];
  session.on('Network.requestWillBeSent', ({ requestId, request }) => {
    requests += 1;
    if (!new URL(request.url).pathname.startsWith('/api/')) files.add(requestId);
  });
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (files.has(requestId)) file_bytes += encodedDataLength;
    else reply_bytes += encodedDataLength;
  });
  await page.goto(`${url}/${PAGE_QUERY}#/`);
  await page.getByText(/of 1000 done/).waitFor();
  const shown_ms = await page.evaluate<number>('performance.now()');
  const paint_ms = await page.evaluate<number>(
    "performance.getEntriesByName('first-contentful-paint')[0].startTime",
  );
  await page.getByText(/accepted in the last hour/).waitFor();
  await page.close();
  return { paint_ms, shown_ms, file_bytes, reply_bytes, requests };
}

function tableRow(name: string, loads: readonly PageLoad[]): string[] {
  const sortedBy = (read: (load: PageLoad) => number) => loads.map(read).sort((a, b) => a - b);
  const medianOf = (read: (load: PageLoad) => number) => sortedBy(read)[Math.floor(loads.length / 2)] ?? 0;
  const kilobytes = (bytes: number): string => (bytes / 1000).toFixed(1);
  return [
    name,
    kilobytes(medianOf(({ file_bytes }) => file_bytes)),
    kilobytes(medianOf(({ reply_bytes }) => reply_bytes)),
    String(medianOf(({ requests }) => requests)),
    millisText(medianOf(({ paint_ms }) => paint_ms)),
    millisText(sortedBy(({ paint_ms }) => paint_ms).at(-1) ?? 0),
    millisText(medianOf(({ shown_ms }) => shown_ms)),
    millisText(sortedBy(({ shown_ms }) => shown_ms).at(-1) ?? 0),
  ];
}
