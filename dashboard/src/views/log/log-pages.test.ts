import { expect, test } from 'vitest';
import type { EventEnvelope } from '../../../../src/core/contract/events.js';
import { eventsOf, type LogPage, newEvents, withNewest } from './log-pages.js';

const pageOf = (before: number | null, ...positions: number[]): LogPage => ({
  events: positions.map((position) => ({ position }) as EventEnvelope),
  before,
});
const MAX = 100;
const positionsOf = (pages: readonly LogPage[] | null) =>
  pages === null ? null : eventsOf(pages).map(({ position }) => position);

test('adds newer events on top, each once', () => {
  const pages = [pageOf(3, 4, 3), pageOf(null, 2, 1)];
  expect(positionsOf(withNewest(pages, pageOf(3, 6, 5, 4, 3), MAX))).toEqual([6, 5, 4, 3, 2, 1]);
  expect(positionsOf(withNewest(pages, pageOf(5, 6, 5), MAX))).toEqual([6, 5, 4, 3, 2, 1]);
  expect(withNewest(pages, pageOf(3, 4, 3), MAX)).toBe(pages);
});

test('returns null if events are missing in between', () => {
  expect(withNewest([pageOf(null, 2, 1)], pageOf(8, 9, 8), MAX)).toBeNull();
  expect(positionsOf(withNewest([pageOf(null)], pageOf(null, 2, 1), MAX))).toEqual([2, 1]);
});

test('drops the oldest events beyond the limit, and continues reading from there', () => {
  const pages = [pageOf(3, 4, 3), pageOf(null, 2, 1)];
  const trimmed = withNewest(pages, pageOf(3, 6, 5, 4, 3), 5);
  expect(positionsOf(trimmed)).toEqual([6, 5, 4, 3, 2]);
  expect(trimmed?.at(-1)?.before).toBe(2);
  expect(positionsOf(withNewest(pages, pageOf(3, 6, 5, 4, 3), 4))).toEqual([6, 5, 4, 3]);
  expect(withNewest(pages, pageOf(3, 6, 5, 4, 3), 4)?.at(-1)?.before).toBe(3);
});

test('counts the events that are not in the list yet', () => {
  const pages = [pageOf(3, 4, 3), pageOf(null, 2, 1)];
  expect(newEvents(pages, pageOf(3, 6, 5, 4, 3))).toEqual({ count: 2, hasMore: false });
  expect(newEvents(pages, pageOf(5, 6, 5))).toEqual({ count: 2, hasMore: false });
  expect(newEvents(pages, pageOf(8, 9, 8))).toEqual({ count: 2, hasMore: true });
  expect(newEvents(pages, pageOf(3, 4, 3))).toEqual({ count: 0, hasMore: false });
  expect(newEvents([pageOf(null)], pageOf(null, 2, 1))).toEqual({ count: 2, hasMore: false });
});
