import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sortSteps } from './sort-steps.js';
import { runAllSteps } from './steps.js';

interface Item {
  readonly key: number;
  readonly at: number;
}

const byKey = (a: Item, b: Item): number => a.key - b.key;

it('sorts like Array.sort and keeps equal items in their original order', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(50), { maxLength: 20 }), fc.integer({ min: 1, max: 400 }), (keys, times) => {
      const items = Array.from({ length: times }, () => keys)
        .flat()
        .map((key, index) => ({ key, at: index }));
      expect(runAllSteps(sortSteps(items, byKey))).toEqual([...items].sort(byKey));
    }),
    { numRuns: 50 },
  );
});

it('sorts at most one run between two steps', () => {
  let compared = 0;
  const items = Array.from({ length: 50_000 }, (_, index) => ({ key: (index * 7919) % 50_000, at: index }));
  const countingCompare = (a: Item, b: Item): number => {
    compared += 1;
    return byKey(a, b);
  };
  let most = 0;
  for (const _ of sortSteps(items, countingCompare)) {
    most = Math.max(most, compared);
    compared = 0;
  }
  // Sorting a run of 1024 takes at most 1024 × 10 comparisons.
  expect(most).toBeLessThanOrEqual(10_240);
});
