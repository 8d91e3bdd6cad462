import { expect, test } from 'vitest';
import type { TrajectoryEntry } from '../../../../src/core/contract/methodology-views.js';
import { timeBars } from './trajectory.js';

const isoAt = (seconds: number) => new Date(seconds * 1000).toISOString();
const entry = (edge: string, started_at: string | null, converged_at: string | null) =>
  ({ edge, started_at, converged_at }) as TrajectoryEntry;

test('shows started edges on one scale, and unfinished ones until now', () => {
  const bars = timeBars(
    [entry('a', isoAt(0), isoAt(50)), entry('b', isoAt(50), null), entry('c', null, null)],
    100_000,
  );
  expect(bars.map(({ entry: { edge }, left, width }) => [edge, left, width])).toEqual([
    ['a', 0, 0.5],
    ['b', 0.5, 0.5],
  ]);
});

test('keeps a bar within the line whatever the times are', () => {
  const bars = timeBars(
    [entry('a', isoAt(10), isoAt(5)), entry('b', null, isoAt(20)), entry('c', 'x', null)],
    0,
  );
  for (const { left, width } of bars) expect(left >= 0 && width > 0 && left + width <= 1).toBe(true);
  expect(timeBars([], 0)).toEqual([]);
});
