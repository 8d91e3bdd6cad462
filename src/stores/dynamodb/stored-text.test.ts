import { expect, it } from 'vitest';
import type { DynamodbBlobs } from './blobs.js';
import { readText, toStoredText } from './stored-text.js';

const NO_BLOBS = {} as DynamodbBlobs;

it('a text of more than 800 bytes is compressed, a shorter one is readable, and both are returned unchanged', async () => {
  const short = toStoredText('head', 'é'.repeat(400));
  const long = toStoredText('head', 'é'.repeat(401));
  expect(short.attributes.head?.S).toBe('é'.repeat(400));
  expect(long.attributes.head?.B?.byteLength).toBeLessThan(100);
  for (const [{ attributes }, length] of [
    [short, 400],
    [long, 401],
  ] as const) {
    expect(await readText(attributes, 'head', NO_BLOBS, 't')).toBe('é'.repeat(length));
  }
});

it('a text of more than 100 KB is stored separately', () => {
  const { attributes, external } = toStoredText('head', 'x'.repeat(100_001));
  expect(Object.keys(attributes)).toEqual(['head_sha256']);
  expect(external?.bytes.byteLength).toBe(100_001);
});
