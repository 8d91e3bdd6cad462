import { expect, it } from 'vitest';
import { hasIntent } from './intent.js';

it.each([
  '',
  '# Intent\n',
  '# Intent\n\n<!-- say what you\nwant -->\n\n---\n',
  '# Intent\n\n{Describe the problem}\n',
  '# Intent\n\n- [What should be possible]\n> TODO\nTBD: all of it\n',
  '# INT-001\n\n**Source**: {human}\n**Priority**:\n<what you want>\n',
  '<!-- never closed',
])('finds no intent in %j', (text) => {
  expect(hasIntent(text)).toBe(false);
});

it.each([
  'Sell shoes.',
  '# Intent\n\nPeople cannot pay by card.\n',
  '# Intent\n- pay by card (and by phone)\n',
  '**Problem**: people cannot pay\n',
])('finds an intent in %j', (text) => {
  expect(hasIntent(text)).toBe(true);
});
