import { expect, test } from 'vitest';
import { TestServer } from '../testing/test-server.js';
import { acceptsGzip } from './accepts-gzip.js';
import { PAGE_ASSETS, PAGE_HTML } from './files.js';

test('the page is built, and loads no external resources, inline scripts or inline styles', () => {
  expect(PAGE_ASSETS.size).toBeGreaterThan(3);
  expect(PAGE_HTML).toMatch(/<script type="module" crossorigin src="\/assets\/[\w.-]+\.js">/);
  // Without an icon, browsers request /favicon.ico, which does not exist.
  expect(PAGE_HTML).toContain('<link rel="icon" href="data:,"');
  expect(PAGE_HTML).not.toMatch(/https?:|\son\w+=|<script>|style=/);
});

test('the licences of the bundled packages are served with the page', () => {
  expect(PAGE_ASSETS.get('licences.txt')).toMatchObject({
    content_type: 'text/plain',
    content: expect.stringMatching(/^## react - [\s\S]*^## swagger-ui-dist\/NOTICE/m),
  });
});

test('the first view loads no graph library', () => {
  const [, entry = ''] = /src="\/assets\/([\w.-]+\.js)"/.exec(PAGE_HTML) ?? [];
  const chunks = [...PAGE_ASSETS].filter(([, { content }]) => content.includes('react-flow__node'));
  expect(chunks).not.toEqual([]);
  expect(chunks.map(([name]) => name)).not.toContain(entry);
});

test('every file of the page has the headers that keep other sites and inline code out', async () => {
  const testServer = await TestServer.forTest();
  for (const name of PAGE_ASSETS.keys()) {
    const { status, headers } = await fetch(`${testServer.url}/assets/${name}`, { method: 'HEAD' });
    const policy = headers.get('content-security-policy') ?? '';
    expect([name, status]).toEqual([name, 200]);
    expect(headers.get('x-content-type-options'), name).toBe('nosniff');
    expect(headers.get('cross-origin-resource-policy'), name).toBe('same-origin');
    expect(policy, name).toContain("default-src 'none'");
    expect(policy, name).toContain("frame-ancestors 'none'");
    expect(policy, name).not.toContain('unsafe');
  }
});

test('assets are sent compressed to clients that accept it', async () => {
  const testServer = await TestServer.forTest();
  const { content, gzip } = PAGE_ASSETS.get('licences.txt') ?? { content: '', gzip: new Uint8Array() };
  const load = async (acceptEncoding: string) => {
    const headers = { 'accept-encoding': acceptEncoding };
    const response = await fetch(`${testServer.url}/assets/licences.txt`, { headers });
    expect(response.headers.get('vary')).toBe('accept-encoding');
    expect(await response.text()).toBe(content);
    return [response.headers.get('content-encoding'), Number(response.headers.get('content-length'))];
  };
  expect(await load('gzip')).toEqual(['gzip', gzip.length]);
  expect(await load('identity')).toEqual([null, Buffer.byteLength(content)]);
  expect((await fetch(`${testServer.url}/assets/licences.txt.gz`)).status).toBe(404);
});

test.for([
  ['gzip, deflate, br', true],
  ['br;q=1.0, GZIP; q=0.5', true],
  ['*', true],
  ['gzip;q=0, *', false],
  ['br', false],
  ['x-gzip-like', false],
  ['', false],
  [null, false],
] as const)('Accept-Encoding %j: gzip %s', ([header, isAccepted]) => {
  expect(acceptsGzip(header)).toBe(isAccepted);
});
