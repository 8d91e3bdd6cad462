import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SubjectOrder } from './subject-order.js';

const after = fc.oneof(fc.string({ maxLength: 3 }), fc.constant(null));

describe('the order of subjects', () => {
  it('pages like a sorted list, even when subjects are added in between', () => {
    const batches = fc.array(fc.array(fc.string({ maxLength: 3 }), { maxLength: 20 }), { maxLength: 5 });
    fc.assert(
      fc.property(batches, after, fc.nat(10), (many, start, limit) => {
        const order = new SubjectOrder();
        const all = new Set<string>();
        for (const batch of many) {
          const fresh = new Set(batch.filter((subject) => !all.has(subject)));
          for (const subject of fresh) {
            order.add(subject);
            all.add(subject);
          }
          const expected = [...all].sort().filter((subject) => start === null || subject > start);
          expect(order.page(start, limit)).toEqual(expected.slice(0, limit));
        }
      }),
    );
  });

  it('stays correct after many subjects were merged', () => {
    const order = new SubjectOrder();
    const names = Array.from({ length: 10_000 }, (_, n) => `s${(n * 7919) % 10_000}`);
    names.slice(0, 5000).forEach((name) => {
      order.add(name);
    });
    expect(order.page(null, 5000)).toEqual(names.slice(0, 5000).sort());
    names.slice(5000).forEach((name) => {
      order.add(name);
    });
    expect(order.page(null, 20_000)).toEqual([...names].sort());
    expect(order.page('s5', 3)).toEqual(['s50', 's500', 's5000']);
    for (const late of ['s50-late', 's5-late']) order.add(late);
    expect(order.page('s5', 4)).toEqual(['s5-late', 's50', 's50-late', 's500']);
  });
});
