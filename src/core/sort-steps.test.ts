import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sortSteps } from './sort-steps.js';
import { runAllSteps } from './steps.js';

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
      expect(runAllSteps(sortSteps(items, byKey))).toEqual([...items].sort(byKey));
    }),
    { numRuns: 50 },
  );
});

it('sorts at most one run between two steps', () => {
  let comparisonCount = 0;
  const items = Array.from({ length: 50_000 }, (_, index) => ({
    key: (index * 7919) % 50_000,
    originalIndex: index,
  }));
  const countingCompare = (a: Item, b: Item): number => {
    comparisonCount += 1;
    return byKey(a, b);
  };
  let comparisonsPerStepMax = 0;
  for (const _ of sortSteps(items, countingCompare)) {
    comparisonsPerStepMax = Math.max(comparisonsPerStepMax, comparisonCount);
    comparisonCount = 0;
  }
  // Sorting a run of 1024 takes at most 1024 × 10 comparisons.
  expect(comparisonsPerStepMax).toBeLessThanOrEqual(10_240);
});
