import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { hashContextFiles } from './context-hash.js';

const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex');
const hashOf = (...files: [string, string | Uint8Array][]) =>
  hashContextFiles(new Map(files), sha256).context_hash;

it('the context hash equals a hash that is built step by step from its definition', () => {
  const list = `- path: a.yml\n  sha256: sha256:${sha256('x\n')}\n- path: b/c.md\n  sha256: sha256:${sha256('y')}\n`;
  expect(hashOf(['b/c.md', 'y'], ['a.yml', 'x\n'])).toBe(`sha256:${sha256(list)}`);
});

it('ignores the order of files, line endings, Unicode composition, and text versus bytes', () => {
  const original = hashOf(['a.md', 'one\ntwo\n'], ['caf\u00e9.md', 'na\u00efve']);
  expect(hashOf(['caf\u00e9.md', 'na\u00efve'], ['a.md', 'one\ntwo\n'])).toBe(original);
  expect(hashOf(['a.md', 'one\r\ntwo\r\n'], ['caf\u00e9.md', 'na\u00efve'])).toBe(original);
  expect(hashOf(['a.md', 'one\rtwo\r'], ['cafe\u0301.md', 'nai\u0308ve'])).toBe(original);
  expect(hashOf(['a.md', Buffer.from('one\r\ntwo\n')], ['caf\u00e9.md', 'na\u00efve'])).toBe(original);
});

it('sorts paths by bytes and not by UTF-16 units, so an astral path comes last', () => {
  const paths = hashContextFiles(
    new Map([
      ['\u{1F600}', ''],
      ['\uFFEE', ''],
      ['z', ''],
    ]),
    sha256,
  ).entries.map(({ path }) => path);
  expect(paths).toEqual(['z', '\uFFEE', '\u{1F600}']);
});

it('changes with a path, with a byte, and with bytes that are not valid UTF-8', () => {
  const original = hashOf(['a', 'x']);
  expect(hashOf(['b', 'x'])).not.toBe(original);
  expect(hashOf(['a', 'x\n'])).not.toBe(original);
  expect(hashOf(['a', Uint8Array.of(0xff, 13, 10)])).not.toBe(hashOf(['a', Uint8Array.of(0xff, 10)]));
});

it('never confuses a path with another entry', () => {
  expect(hashOf(['a: b\n- path: c', 'x'])).not.toBe(hashOf(['a: b', 'x'], ['c', 'x']));
});
