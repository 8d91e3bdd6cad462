import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeName, encodeName, nameBytes } from './name-encoding.js';

/** Any code units, including lone surrogates. */
const name = fc.array(fc.nat(0xffff), { maxLength: 6 }).map((units) => String.fromCharCode(...units));

describe('names in columns', () => {
  it('survive the conversion to bytes and back', () => {
    const roundTrip = fc.property(name, (text) => {
      expect(decodeName(nameBytes(text).toString())).toBe(text);
    });
    fc.assert(roundTrip, { numRuns: 1000 });
  });

  it('sort by their bytes in the order of their code units', () => {
    const order = fc.property(name, name, (a, b) => {
      expect(Math.sign(Buffer.compare(nameBytes(a), nameBytes(b)))).toBe(a < b ? -1 : a > b ? 1 : 0);
    });
    fc.assert(order, { numRuns: 1000 });
  });

  it('are stored unchanged where possible', () => {
    for (const text of ['A-001-core::2', '~session/s 1 ', 'Grüße, 世界']) expect(encodeName(text)).toBe(text);
  });
});
