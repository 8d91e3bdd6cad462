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
const keysOf = (cache: RequestCache): string[] => [...cache.entries()].map(({ key }) => key);

describe('the request cache', () => {
  it('keeps each request for the whole window, and removes it afterwards', () => {
    const cache = new RequestCache();
    cache.remember(request('old', 0));
    cache.remember(request('edge', REQUEST_WINDOW_MS));
    expect(keysOf(cache)).toEqual(['old', 'edge']);
    cache.remember(request('new', REQUEST_WINDOW_MS + 1));
    expect(keysOf(cache)).toEqual(['edge', 'new']);
    expect(cache.get('old')).toBeUndefined();
  });

  it('removes the oldest first when there are too many', () => {
    const cache = new RequestCache(3);
    for (const key of ['a', 'b', 'c', 'd', 'e']) cache.remember(request(key, 0));
    expect(keysOf(cache)).toEqual(['c', 'd', 'e']);
  });

  it('keeps the first request of a repeated key', () => {
    const cache = new RequestCache();
    cache.remember(request('a', 1));
    cache.remember(request('a', 2));
    expect(cache.get('a')?.at_ms).toBe(1);
  });

  it('stays bounded and correct over many more requests than it keeps', () => {
    const cache = new RequestCache(10);
    for (let n = 0; n < 20_000; n += 1) cache.remember(request(`k${n}`, n));
    expect(keysOf(cache)).toHaveLength(10);
    expect(keysOf(cache)[0]).toBe('k19990');
    cache.remember(request('k1', 20_000));
    expect(cache.get('k1')?.at_ms).toBe(20_000);
    expect(cache.get('k19990')).toBeUndefined();
  });

  it('returns every field of a request, before and after the oldest are removed', () => {
    const cache = new RequestCache(3000);
    const requestOf = (n: number): CachedRequest => ({
      key: `k${n}`,
      digest: `d${n}`,
      reply: n % 2 === 0 ? undefined : { n },
      positions: Array.from({ length: n % 3 }, (_, offset) => 3 * n + offset),
      at_ms: n,
    });
    for (let n = 0; n < 10_000; n += 1) {
      cache.remember(requestOf(n));
      if (n % 97 === 0) expect(cache.get(`k${n}`)).toEqual(requestOf(n));
    }
    for (let n = 7000; n < 10_000; n += 97) expect(cache.get(`k${n}`)).toEqual(requestOf(n));
    expect([...cache.entries()]).toEqual(Array.from({ length: 3000 }, (_, at) => requestOf(7000 + at)));
  });
});
