import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SingleEntryMap } from './single-entry-map.js';

it('a single-entry map behaves like a Map after any sequence of sets and deletions', () => {
  const step = fc.record({ key: fc.constantFrom('a', 'b', 'c'), value: fc.option(fc.nat(9), { nil: null }) });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const map = new SingleEntryMap<string, number>();
      const expected = new Map<string, number>();
      for (const { key, value } of steps) {
        if (value === null) {
          map.delete(key);
          expected.delete(key);
        } else {
          map.set(key, value);
          expected.set(key, value);
        }
        for (const name of ['a', 'b', 'c']) {
          expect(map.get(name)).toBe(expected.get(name));
          expect(map.has(name)).toBe(expected.has(name));
        }
        expect(new Map(map)).toEqual(expected);
        expect(new Map(map.copy())).toEqual(expected);
      }
    }),
  );
});

it('a single-entry map does not share its entries with a copy', () => {
  const map = new SingleEntryMap<string, number>();
  map.set('a', 1);
  const copy = map.copy();
  copy.set('b', 2);
  copy.delete('a');
  expect([...map]).toEqual([['a', 1]]);
});
