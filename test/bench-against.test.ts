import { expect, it } from 'vitest';
import { median, ratioOf, spreadText } from '../bench/against/statistics.js';

it('takes the middle value, or the mean of the two in the middle', () => {
  expect(median([5, 1, 3])).toBe(3);
  expect(median([4, 1, 3, 2])).toBe(2.5);
});

it('compares each round with itself, so that a slow round of both changes nothing', () => {
  const { ratio, lowest, highest } = ratioOf([10, 100, 10], [5, 50, 4]);
  expect([ratio, lowest, highest]).toEqual([0.5, 0.4, 0.5]);
  expect(spreadText(lowest, highest)).toBe('0.40–0.50');
});
