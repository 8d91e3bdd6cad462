import { expect, test } from 'vitest';
import { PAGE_ASSETS, PAGE_HTML } from './files.js';

test('the page is built, and loads no external resources, inline scripts or inline styles', () => {
  expect(PAGE_ASSETS.size).toBeGreaterThan(3);
  expect(PAGE_HTML).toMatch(/<script type="module" crossorigin src="\/assets\/[\w.-]+\.js">/);
  expect(PAGE_HTML).not.toMatch(/https?:|\son\w+=|<script>|style=/);
});
