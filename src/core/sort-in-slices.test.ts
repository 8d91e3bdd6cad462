import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runAtOnce } from './sliceable-work.js';
import { sortInSlices } from './sort-in-slices.js';

interface Item {
  readonly key: number;
  readonly originalIndex: number;
}

const byKey = (a: Item, b: Item): number => a.key - b.key;

it('sorts like Array.sort and keeps equal items in their original order', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(50), { maxLength: 20 }), fc.integer({ min: 1, max: 400 }), (keys, copies) => {
      const items = Array.from({ length: copies }, () => keys)
        .flat()
        .map((key, index) => ({ key, originalIndex: index }));
      expect(runAtOnce(sortInSlices(items, byKey))).toEqual([...items].sort(byKey));
    }),
    { numRuns: 50 },
  );
});

it('sorts at most one run between two pauses', () => {
  let comparisonCount = 0;
  const items = Array.from({ length: 50_000 }, (_, index) => ({
    key: (index * 7919) % 50_000,
    originalIndex: index,
  }));
  const countingCompare = (a: Item, b: Item): number => {
    comparisonCount += 1;
    return byKey(a, b);
  };
  let comparisonsBetweenPausesMax = 0;
  for (const _ of sortInSlices(items, countingCompare)) {
    comparisonsBetweenPausesMax = Math.max(comparisonsBetweenPausesMax, comparisonCount);
    comparisonCount = 0;
  }
  // Sorting a run of 1024 takes at most 1024 × 10 comparisons.
  expect(comparisonsBetweenPausesMax).toBeLessThanOrEqual(10_240);
});
