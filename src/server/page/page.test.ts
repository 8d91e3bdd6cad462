import { expect, test } from 'vitest';
import { PAGE_ASSETS, PAGE_HTML } from './files.js';

test('the page is built, and loads no external resources, inline scripts or inline styles', () => {
  expect(PAGE_ASSETS.size).toBeGreaterThan(3);
  expect(PAGE_HTML).toMatch(/<script type="module" crossorigin src="\/assets\/[\w.-]+\.js">/);
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
