import { expect, it } from 'vitest';
import { displayPath } from './log-files.js';

it('shows a path relative to the root of the store, and outside it only the name of the file', () => {
  expect(displayPath('/srv/log', '/srv/log/acme/shop/events.jsonl')).toBe('acme/shop/events.jsonl');
  expect(displayPath('/srv/log', '/srv/logs/acme/events.jsonl')).toBe('events.jsonl');
});
