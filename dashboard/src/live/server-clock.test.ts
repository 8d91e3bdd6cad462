import { expect, it } from 'vitest';
import { clockOffsetMs } from './server-clock.js';

const NOON = Date.parse('2026-05-01T12:00:00Z');
const HEADER = 'Fri, 01 May 2026 12:00:00 GMT';

it('corrects a clock that differs from the server, and ignores small differences and invalid headers', () => {
  expect(clockOffsetMs(HEADER, NOON - 60_000)).toBe(60_000);
  expect(clockOffsetMs(HEADER, NOON + 3_600_000)).toBe(-3_600_000);
  expect(clockOffsetMs(HEADER, NOON + 1500)).toBe(0);
  expect(clockOffsetMs(null, NOON)).toBe(0);
  expect(clockOffsetMs('not a date', NOON)).toBe(0);
});
