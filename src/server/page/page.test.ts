import { Script } from 'node:vm';
import { expect, test } from 'vitest';
import { positionOfCursor } from '../../coordinator/queries/cursor.js';
import { PAGE_HTML, PAGE_SCRIPT } from './files.js';

test('the script is valid, and every element that it fills is on the page', () => {
  expect(() => new Script(PAGE_SCRIPT)).not.toThrow();
  const used = [...PAGE_SCRIPT.matchAll(/(?:at|table)\(\s*'(\w+)'/g)].map(([, id]) => id);
  expect(used.length).toBeGreaterThan(5);
  for (const id of used) expect(PAGE_HTML).toContain(`id="${id}"`);
});

test('the page loads no external resources and inserts no text as markup', () => {
  expect(PAGE_HTML).not.toMatch(/https?:|\son\w+=|<script>|style=/);
  expect(PAGE_SCRIPT).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|eval|https?:/);
});

test('the page encodes cursors as the coordinator does', () => {
  const [line = ''] = /const cursorAt = .*/.exec(PAGE_SCRIPT) ?? [];
  const made = new Script(`${line}; [0, 7, 12, 123456789012345].map(cursorAt)`).runInNewContext({ btoa });
  expect(made.map(positionOfCursor)).toEqual([0, 7, 12, 123456789012345]);
});
