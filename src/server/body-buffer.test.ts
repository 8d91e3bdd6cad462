import { expect, it } from 'vitest';
import { BodyBuffer } from './body-buffer.js';

it('joins chunks of any size in their order', () => {
  const text = Array.from({ length: 500 }, (_, index) => `${index},`.repeat(index % 7)).join('');
  const body = new BodyBuffer();
  for (let at = 0, size = 1; at < text.length; at += size, size = (size * 3) % 97)
    body.add(Buffer.from(text.slice(at, at + size)));
  expect(Buffer.from(body.bytes()).toString()).toBe(text);
  expect(body.length).toBe(text.length);
});

it('does not change the first chunk when the body grows', () => {
  const first = Buffer.from('abc');
  const body = new BodyBuffer();
  body.add(first);
  body.add(Buffer.from('def'));
  expect([first.toString(), Buffer.from(body.bytes()).toString()]).toEqual(['abc', 'abcdef']);
});

it('recognizes a long body of tiny chunks, and no short one', () => {
  const [tiny, large] = [new BodyBuffer(), new BodyBuffer()];
  for (let count = 0; count < 4096; count += 1) tiny.add(Buffer.from('x'));
  expect(tiny.hasTinyChunks).toBe(false);
  tiny.add(Buffer.from('x'));
  expect(tiny.hasTinyChunks).toBe(true);
  for (let count = 0; count < 5000; count += 1) large.add(Buffer.alloc(16));
  expect(large.hasTinyChunks).toBe(false);
});
