import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ByteWriter } from './byte-writer.js';

/** The text of a writer after the same value is written twice. Its buffer is too small at first. */
function written(write: (out: ByteWriter) => void): string {
  const out = new ByteWriter(Buffer.allocUnsafe(3));
  write(out);
  write(out);
  return out.bytes.subarray(0, out.length).toString('utf8');
}

const twice = (text: string): string => text + text;

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: fc.constantFrom('a', '"', '\\', '\n', '\u007f', 'é', '\ud800', '😀'), maxLength: 12 }),
);

it('writes a text as it appears within the quotes of JSON', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect(written((out) => out.jsonText(text))).toBe(twice(JSON.stringify(text).slice(1, -1)));
    }),
  );
});

it('writes a number as JSON has it', () => {
  const edges = [0, 9, 10, 99, 100, Number.MAX_SAFE_INTEGER, 2 ** 53, 1e21, -1, -0, 0.5, Number.NaN];
  const anyNumber = fc.oneof(fc.constantFrom(...edges), fc.maxSafeNat(), fc.double());
  fc.assert(
    fc.property(anyNumber, (value) => {
      expect(written((out) => out.number(value))).toBe(twice(JSON.stringify(value)));
    }),
  );
});

it('writes ASCII, UTF-8 and parts of other buffers, and grows as needed', () => {
  const source = Buffer.from('0123456789'.repeat(50));
  fc.assert(
    fc.property(fc.string(), anyText, fc.nat(500), fc.nat(500), (ascii, text, first, second) => {
      const [from, to] = first < second ? [first, second] : [second, first];
      const result = written((out) => {
        out.ascii(ascii);
        out.utf8(text);
        out.copyOf(source, from, to);
      });
      expect(result).toBe(
        twice(`${ascii}${Buffer.from(text).toString()}${source.toString('ascii', from, to)}`),
      );
    }),
  );
});
