import { expect, it } from 'vitest';
import { median, ratioOf, spreadText } from '../bench/against/statistics.js';

it('has as median the middle value, or the mean of the two middle values', () => {
  expect(median([5, 1, 3])).toBe(3);
  expect(median([4, 1, 3, 2])).toBe(2.5);
});

it('compares both versions within each round, so that a round in which both are slow changes nothing', () => {
  const { ratio, lowest, highest } = ratioOf([10, 100, 10], [5, 50, 4]);
  expect([ratio, lowest, highest]).toEqual([0.5, 0.4, 0.5]);
  expect(spreadText(lowest, highest)).toBe('0.40–0.50');
});
