import { mkdir } from 'node:fs/promises';
import { chromium } from 'playwright-core';
import { findInstalledProgram } from '../src/stores/testing/program.js';
import { startKeptDemo } from '../test/support/kept-demo.js';

/** Takes the pictures of README.md: the page while the demo runs, after the zombie's result was refused. */
const FOLDER = 'docs/images';
const TIMEOUT_MS = 300_000;
const WINDOW = { width: 1280, height: 920 };

const executablePath = findInstalledProgram('chromium', 'chromium-browser', 'google-chrome');
if (executablePath === null) throw new Error('chromium is not installed. Run npm run engines:install.');
await mkdir(FOLDER, { recursive: true });
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
const demo = await startKeptDemo();
try {
  const pages = await Promise.all(
    (['light', 'dark'] as const).map(async (colorScheme) => {
      const context = await browser.newContext({ viewport: WINDOW, colorScheme, locale: 'en-GB' });
      const page = await context.newPage();
      await page.goto(demo.pageUrl);
      return { page, path: `${FOLDER}/fleet-${colorScheme}.png` };
    }),
  );
  for (const { page, path } of pages) {
    const feed = page.getByRole('log');
    for (const text of ['SIGKILL', 'SIGSTOP', 'It is kept and can be adopted'])
      await feed.getByText(text).first().waitFor({ timeout: TIMEOUT_MS });
    await page.getByRole('row').filter({ hasText: 'active' }).first().waitFor();
    await page.screenshot({ path });
    console.log(path);
  }
} finally {
  await demo.stop();
  await browser.close();
}
