const ARRAY_32 = 0xdd;
const FLOAT_64 = 0xcb;

/** One MessagePack array of doubles, which Lua reads without parsing text. */
export function packDoubles(numbers: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(5 + 9 * numbers.length);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  view.setUint8(0, ARRAY_32);
  view.setUint32(1, numbers.length);
  let at = 5;
  for (const value of numbers) {
    view.setUint8(at, FLOAT_64);
    view.setFloat64(at + 1, value);
    at += 9;
  }
  return bytes;
}
