import { expect, test } from 'vitest';
import { OPEN_PRINCIPAL, type Principal } from './principal.js';
import { RateLimiter } from './rate-limit.js';

const key = (id: string): Principal => ({
  id,
  kind: 'key',
  tenant_id: 'acme',
  role: 'agent',
  name: null,
  user_id: null,
  agent_role: null,
});
const [ONE, TWO] = [key('key-1'), key('key-2')];

function createRateLimiter(limits = {}) {
  let nowMs = 0;
  const slow = { requests_per_second: 0.5, requests_burst: 2, renewals_per_second: 1, renewals_burst: 2 };
  const limiter = new RateLimiter({ ...slow, ...limits }, () => nowMs);
  return { limiter, pass: (seconds: number) => (nowMs += seconds * 1000) };
}

test('allows a burst up to the size of the bucket, then requests at its refill rate', () => {
  const { limiter, pass } = createRateLimiter();
  const take = () => limiter.take(ONE, 'requests');
  expect([take(), take(), take()]).toEqual([null, null, 2]);
  pass(1);
  expect(take()).toBe(1);
  pass(1);
  expect([take(), take()]).toEqual([null, 2]);
  pass(1000);
  expect([take(), take(), take()]).toEqual([null, null, 2]);
});

test('allows renewals while other requests are limited', () => {
  const { limiter } = createRateLimiter();
  while (limiter.take(ONE, 'requests') === null);
  expect(limiter.take(ONE, 'renewals')).toBeNull();
});

test('limits each key independently', () => {
  const { limiter } = createRateLimiter();
  while (limiter.take(ONE, 'requests') === null);
  expect(limiter.take(TWO, 'requests')).toBeNull();
});

test('does not limit callers of an open server', () => {
  const { limiter } = createRateLimiter({ requests_burst: 0 });
  expect(limiter.take(OPEN_PRINCIPAL, 'requests')).toBeNull();
});

test('keeps a bounded number of buckets: the most recently used', () => {
  const { limiter } = createRateLimiter();
  while (limiter.take(ONE, 'requests') === null);
  for (let n = 0; n < 20_000; n += 1) {
    limiter.take(key(`key-x${n}`), 'requests');
    if (n % 5000 === 0) limiter.take(ONE, 'requests');
  }
  expect(limiter.bucketCount).toBe(10_000);
  expect(limiter.take(ONE, 'requests')).toBe(2);
});
