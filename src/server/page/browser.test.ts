import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { onProgram, skipGroup } from '../../stores/testing/on-engine.js';
import { findProgram } from '../../stores/testing/program.js';
import { PROJECT_URL, TENANT_URL, TestServer } from '../testing/test-server.js';

const BROWSER = findProgram('chromium', 'chromium-browser', 'google-chrome');
const MISSING = BROWSER === null ? 'chromium is not installed (npm run engines:install)' : null;

if (process.platform !== 'linux') skipGroup('a browser', 'browser tests run on Linux only');
else await onProgram('a browser', MISSING, () => void describe('in a browser the page', describePage));

/** The page's DOM after three seconds of virtual browser time. */
async function seen(url: string, moreFlags: readonly string[] = []): Promise<string> {
  const profile = await mkdtemp(join(tmpdir(), 'browser-'));
  onTestFinished(() => rm(profile, { recursive: true, force: true, maxRetries: 5 }));
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', `--user-data-dir=${profile}`];
  const args = [...flags, ...moreFlags, '--virtual-time-budget=3000', '--dump-dom', url];
  return (await promisify(execFile)(BROWSER as string, args)).stdout;
}

/** The page once an element has text: virtual time does not wait for events of a stream. */
async function seenWith(url: string, id: string): Promise<string> {
  for (;;) {
    const page = await seen(url);
    if (part(page, id)) return page;
  }
}

/** The text of an element; null if it is hidden. */
function part(page: string, id: string): string | null {
  const [, tag, attributes = '', rest = ''] =
    new RegExp(`<(\\w+)([^>]*\\bid="${id}"[^>]*)>([\\s\\S]*)`).exec(page) ?? [];
  if (/\bhidden\b/.test(attributes)) return null;
  return rest
    .slice(0, rest.indexOf(`</${tag}>`))
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}

function describePage(): void {
  test('shows how to import a plan when the project has none', async () => {
    const served = await TestServer.forTest();
    const page = await seen(served.url);
    expect(part(page, 'link')).toBe('live');
    expect(part(page, 'empty')).toContain('gen plan import');
    expect(part(page, 'which')).toBeNull();
    expect(part(await seen(`${served.url}/?project=shop`), 'nothing')).toBe('shop has no plan yet');
  });

  test('shows progress, agents and the latest events of a long log', async () => {
    const served = await TestServer.forTest();
    const tasks = Array.from({ length: 60 }, (_, index) => ({
      id: `A-${String(index + 1).padStart(3, '0')}-x`,
      description: 'x',
      depends_on: [],
    }));
    await served.request('PUT', `${PROJECT_URL}/plan`, { tracks: { A: tasks } });
    const who = { agent_id: 'ada', session_id: 's' };
    for (const { id: task_id } of tasks.slice(0, 55)) {
      const { body } = await served.request('POST', `${PROJECT_URL}/claims`, { task_id, ...who });
      const result = { task_id, session_id: 's', generation: 1, claim_id: body.claim.id, result_data: 1 };
      await served.request('POST', `${PROJECT_URL}/results`, result);
    }
    await served.request('POST', `${PROJECT_URL}/claims`, { task_id: 'A-060-x', ...who });
    const page = await seenWith(`${served.url}/?tenant=acme&project=shop`, 'events');
    expect(part(page, 'link')).toBe('live');
    expect(part(page, 'total')).toBe('55 of 60 done · 1 in progress · 4 ready');
    expect(part(page, 'agents')).toMatch(/ada A-060-x 55 0/);
    expect(part(page, 'events')).toMatch(
      /^Time Event Task Agent Generation \S+ claim acquired A-060-x ada 1/,
    );
    expect(part(page, 'events')?.match(/result submitted/g)?.length).toBeGreaterThan(40);
    expect(part(page, 'needed')).toBeNull();
  });

  test.each([1280, 400])('shows every path of the API whole in a window of %i pixels', async (width) => {
    const served = await TestServer.forTest();
    const [docs, css] = await Promise.all(
      ['/docs', '/page.css'].map(async (path) => (await fetch(served.url + path)).text()),
    );
    const measure = `<p id="cut"></p><script>
      const cells = [...document.querySelectorAll('td')];
      const cut = cells.filter((cell) => cell.scrollWidth > cell.clientWidth || cell.scrollWidth > innerWidth);
      document.getElementById('cut').textContent = cells.length + ' cells, ' + cut.length + ' cut off';
    </script>`;
    const file = join(await mkdtemp(join(tmpdir(), 'docs-')), 'docs.html');
    onTestFinished(() => rm(dirname(file), { recursive: true }));
    const link = '<link rel="stylesheet" href="/page.css">';
    expect(docs).toContain(link);
    await writeFile(file, (docs as string).replace(link, () => `<style>${css}</style>`) + measure);
    const page = await seen(`file://${file}`, [`--window-size=${width},900`]);
    expect(part(page, 'cut')).toMatch(/^[1-9]\d{2,} cells, 0 cut off$/);
  });

  test('asks for a key when the server requires one', async () => {
    const served = await TestServer.forTest();
    await served.request('POST', `${TENANT_URL}/keys`, { role: 'admin' });
    const page = await seen(`${served.url}/?tenant=acme&project=shop`);
    expect(part(page, 'link')).toBe('key required');
    expect(part(page, 'key-form')).toContain('This server requires a key');
  });

  test('shows when the connection was lost, and keeps reconnecting', async () => {
    const served = await TestServer.forTest();
    await served.request('PUT', `${PROJECT_URL}/plan`, {
      tracks: { A: [{ id: 'A-001-x', description: 'x' }] },
    });
    let streams = 0;
    const between = createServer((asked, answered) => {
      if (asked.url?.includes('/events/stream')) {
        streams += 1;
        answered.destroy();
        return;
      }
      request(served.url + asked.url, { headers: asked.headers }, (reply) => {
        answered.writeHead(reply.statusCode ?? 500, reply.headers);
        reply.pipe(answered);
      }).end();
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void between.close());
    await new Promise((listening) => between.once('listening', listening));
    const { port } = between.address() as AddressInfo;
    const page = await seen(`http://127.0.0.1:${port}/?tenant=acme&project=shop`);
    expect(part(page, 'link')).toMatch(/^connection lost at \d\d:\d\d:\d\d, retrying$/);
    expect(streams).toBeGreaterThan(1);
    expect(part(page, 'total')).toBe('0 of 1 done · 1 ready');
  });
}
