import { expect, it } from 'vitest';
import { connectionsWithin } from './open-files-limit.js';

const limitsOf = (soft: string): string =>
  `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${soft}                 ${soft}                 files\n`;

it('leaves descriptors for the store', () => {
  expect(connectionsWithin(50_000, limitsOf('1024'))).toBe(512);
  expect(connectionsWithin(50_000, limitsOf('65536'))).toBe(50_000);
  expect(connectionsWithin(50_000, limitsOf('20000'))).toBe(19_488);
  expect(connectionsWithin(50_000, limitsOf('256'))).toBe(128);
});

it('keeps the setting where the limit is unknown or unlimited', () => {
  expect(connectionsWithin(50_000, '')).toBe(50_000);
  expect(connectionsWithin(50_000, limitsOf('unlimited'))).toBe(50_000);
});
