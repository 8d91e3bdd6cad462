import { describe, expect, it } from 'vitest';
import { type CachedRequest, RequestCache } from './request-cache.js';
import { REQUEST_WINDOW_MS } from './store.js';

const request = (key: string, at_ms: number): CachedRequest => ({
  key,
  digest: 'd',
  reply: null,
  positions: [],
  at_ms,
});
const keysOf = (memory: RequestCache): string[] => [...memory.entries()].map(({ key }) => key);

describe('the request cache', () => {
  it('keeps each request for the whole window, and removes it afterwards', () => {
    const memory = new RequestCache();
    memory.remember(request('old', 0));
    memory.remember(request('edge', REQUEST_WINDOW_MS));
    expect(keysOf(memory)).toEqual(['old', 'edge']);
    memory.remember(request('new', REQUEST_WINDOW_MS + 1));
    expect(keysOf(memory)).toEqual(['edge', 'new']);
    expect(memory.get('old')).toBeUndefined();
  });

  it('removes the oldest first when there are too many', () => {
    const memory = new RequestCache(3);
    for (const key of ['a', 'b', 'c', 'd', 'e']) memory.remember(request(key, 0));
    expect(keysOf(memory)).toEqual(['c', 'd', 'e']);
  });

  it('keeps the first request of a repeated key', () => {
    const memory = new RequestCache();
    memory.remember(request('a', 1));
    memory.remember(request('a', 2));
    expect(memory.get('a')?.at_ms).toBe(1);
  });

  it('stays bounded and correct over many more requests than it keeps', () => {
    const memory = new RequestCache(10);
    for (let n = 0; n < 20_000; n += 1) memory.remember(request(`k${n}`, n));
    expect(keysOf(memory)).toHaveLength(10);
    expect(keysOf(memory)[0]).toBe('k19990');
    memory.remember(request('k1', 20_000));
    expect(memory.get('k1')?.at_ms).toBe(20_000);
    expect(memory.get('k19990')).toBeUndefined();
  });

  it('returns every field of a request, before and after the oldest are removed', () => {
    const memory = new RequestCache(3000);
    const requestOf = (n: number): CachedRequest => ({
      key: `k${n}`,
      digest: `d${n}`,
      reply: n % 2 === 0 ? undefined : { n },
      positions: Array.from({ length: n % 3 }, (_, offset) => 3 * n + offset),
      at_ms: n,
    });
    for (let n = 0; n < 10_000; n += 1) {
      memory.remember(requestOf(n));
      if (n % 97 === 0) expect(memory.get(`k${n}`)).toEqual(requestOf(n));
    }
    for (let n = 7000; n < 10_000; n += 97) expect(memory.get(`k${n}`)).toEqual(requestOf(n));
    expect([...memory.entries()]).toEqual(Array.from({ length: 3000 }, (_, at) => requestOf(7000 + at)));
  });
});
