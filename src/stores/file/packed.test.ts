import fc from 'fast-check';
import { expect, it } from 'vitest';
import { pack, unpack } from './packed.js';

/** Few names and few values, so that shapes and values repeat often. */
const integers = fc.constantFrom(0, -1, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER - 1);
const leaf = fc.oneof(
  integers,
  fc.constantFrom<unknown>(undefined, null, true, 0.5, Number.NaN, '', 'a "b"\n', '\u{1f600}\ud800'),
);
const name = fc.constantFrom('a', '1', '__proto__');
const fieldsOf = (value: fc.Arbitrary<unknown>) => fc.dictionary(name, value, { maxKeys: 2 });
const deep = fc.oneof(leaf, fc.array(leaf, { maxLength: 2 }), fieldsOf(leaf));
const object = fieldsOf(fc.oneof(leaf, fieldsOf(deep)));

const throughJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

it('restores objects in order, exactly as JSON would', () => {
  fc.assert(
    fc.property(fc.array(object, { maxLength: 12 }), (objects) => {
      const unpacked = unpack(throughJson(pack(objects)));
      expect(unpacked.map((one) => JSON.stringify(one))).toEqual(objects.map((one) => JSON.stringify(one)));
    }),
    { numRuns: 2000 },
  );
});

it('writes the common parts of objects once', () => {
  const heads = Array.from({ length: 1000 }, (_, index) => ({
    subject: `task-${index}`,
    seq: 1_000_000_000_000 + index,
    claim: { agent_id: `agent-${index % 3}`, since: 1_000_000_000_000 + index, note: 'the same for all' },
  }));
  const written = JSON.stringify(pack(heads));
  expect(written.match(/the same for all/g)).toHaveLength(1);
  expect(written.match(/agent-2/g)).toHaveLength(1);
  expect(written.length).toBeLessThan(JSON.stringify(heads).length / 4);
});
