import { type Browser, chromium } from 'playwright-core';
import { findInstalledProgram } from '../../../src/stores/testing/program.js';

const BROWSER = findInstalledProgram('chromium', 'chromium-browser', 'google-chrome');
/** Why no browser can be started; null if one can. */
export const BROWSER_MISSING =
  BROWSER === null ? 'chromium is not installed (npm run engines:install)' : null;
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
];

export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: BROWSER as string, args: FLAGS });
