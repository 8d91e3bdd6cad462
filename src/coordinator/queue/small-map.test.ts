import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SmallMap } from './small-map.js';

it('a small map behaves like a Map after any sequence of sets and deletions', () => {
  const step = fc.record({ key: fc.constantFrom('a', 'b', 'c'), value: fc.option(fc.nat(9), { nil: null }) });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const small = new SmallMap<string, number>();
      const plain = new Map<string, number>();
      for (const { key, value } of steps) {
        if (value === null) {
          small.delete(key);
          plain.delete(key);
        } else {
          small.set(key, value);
          plain.set(key, value);
        }
        for (const name of ['a', 'b', 'c']) {
          expect(small.get(name)).toBe(plain.get(name));
          expect(small.has(name)).toBe(plain.has(name));
        }
        expect(new Map(small)).toEqual(plain);
        expect(new Map(small.copy())).toEqual(plain);
      }
    }),
  );
});

it('a small map does not share its entries with a copy', () => {
  const small = new SmallMap<string, number>();
  small.set('a', 1);
  const copy = small.copy();
  copy.set('b', 2);
  copy.delete('a');
  expect([...small]).toEqual([['a', 1]]);
});
