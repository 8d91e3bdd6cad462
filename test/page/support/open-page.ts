import type { Browser, Page } from 'playwright-core';
import { afterAll, describe, expect, onTestFinished } from 'vitest';
import { onProgram, skipGroup } from '../../../src/stores/testing/on-database.js';
import { BROWSER_MISSING, launchBrowser } from './browser.js';

interface OpenOptions {
  readonly width?: number;
  readonly height?: number;
  readonly theme?: 'light' | 'dark';
  /** An API key, as if it had been entered. */
  readonly key?: string;
}

/** Opens an address in a window of its own, closed after the test. An error in the page or its console fails the test. */
export type OpenPage = (url: string, options?: OpenOptions) => Promise<Page>;

/** Registers tests of the page. Without a browser, and outside of Linux, they are skipped with the reason. */
export async function describeInBrowser(name: string, tests: (open: OpenPage) => void): Promise<void> {
  if (process.platform !== 'linux') return skipGroup('a browser', 'browser tests run on Linux only');
  await onProgram(
    'a browser',
    BROWSER_MISSING,
    () =>
      void describe(name, () => {
        let browser: Browser | null = null;
        afterAll(() => browser?.close());
        tests(async (url, options = {}) => {
          browser ??= await launchBrowser();
          return openWindow(browser, url, options);
        });
      }),
  );
}

async function openWindow(browser: Browser, url: string, options: OpenOptions): Promise<Page> {
  const { width = 1280, height = 900, theme = 'light', key } = options;
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme });
  const page = await context.newPage();
  const consoleErrors: string[] = [];
  page.on('pageerror', (error) => consoleErrors.push(String(error)));
  page.on('console', (message) => {
    // The page itself shows a failed request, so the browser's console message about it is ignored.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      consoleErrors.push(message.text());
  });
  onTestFinished(async () => {
    await context.close();
    expect(consoleErrors).toEqual([]);
  });
  if (key !== undefined)
    await page.addInitScript(`sessionStorage.setItem('genesis-key', ${JSON.stringify(key)})`);
  await page.goto(url);
  return page;
}

/** The address of a view of the test server's project. */
export const viewUrl = (serverUrl: string, view = ''): string =>
  `${serverUrl}/?tenant=acme&project=shop#/${view}`;
