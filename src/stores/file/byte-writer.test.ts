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

it('writes UTF-8 and parts of other buffers, and grows as needed', () => {
  const source = Buffer.from('0123456789'.repeat(50));
  fc.assert(
    fc.property(anyText, fc.nat(500), fc.nat(500), (text, first, second) => {
      const [from, to] = first < second ? [first, second] : [second, first];
      const result = written((out) => {
        out.utf8(text);
        out.copyOf(source, from, to);
      });
      expect(result).toBe(twice(`${Buffer.from(text).toString()}${source.toString('ascii', from, to)}`));
    }),
  );
});
