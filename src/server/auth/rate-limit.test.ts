import { expect, test } from 'vitest';
import { OPEN_PRINCIPAL, type Principal } from './principal.js';
import { RateLimiter } from './rate-limit.js';

const keyPrincipal = (id: string): Principal => ({
  id,
  kind: 'key',
  tenant_id: 'acme',
  role: 'agent',
  name: null,
  user_id: null,
  agent_role: null,
});
const [ONE, TWO] = [keyPrincipal('key-1'), keyPrincipal('key-2')];

function createRateLimiter(limits = {}) {
  let nowMs = 0;
  const slow = { requests_per_second: 0.5, requests_burst: 2, renewals_per_second: 1, renewals_burst: 2 };
  const limiter = new RateLimiter({ ...slow, ...limits }, () => nowMs);
  return { limiter, pass: (seconds: number) => (nowMs += seconds * 1000) };
}

test('allows a burst up to the size of the bucket, then requests at its refill rate', () => {
  const { limiter, pass } = createRateLimiter();
  const takeOne = () => limiter.takeToken(ONE, 'requests');
  expect([takeOne(), takeOne(), takeOne()]).toEqual([null, null, 2]);
  pass(1);
  expect(takeOne()).toBe(1);
  pass(1);
  expect([takeOne(), takeOne()]).toEqual([null, 2]);
  pass(1000);
  expect([takeOne(), takeOne(), takeOne()]).toEqual([null, null, 2]);
});

test('allows renewals while other requests are limited', () => {
  const { limiter } = createRateLimiter();
  while (limiter.takeToken(ONE, 'requests') === null);
  expect(limiter.takeToken(ONE, 'renewals')).toBeNull();
});

test('limits each key independently', () => {
  const { limiter } = createRateLimiter();
  while (limiter.takeToken(ONE, 'requests') === null);
  expect(limiter.takeToken(TWO, 'requests')).toBeNull();
});

test('does not limit callers in open mode', () => {
  const { limiter } = createRateLimiter({ requests_burst: 0 });
  expect(limiter.takeToken(OPEN_PRINCIPAL, 'requests')).toBeNull();
});

test('keeps a bounded number of buckets: the most recently used', () => {
  const { limiter } = createRateLimiter();
  while (limiter.takeToken(ONE, 'requests') === null);
  for (let n = 0; n < 20_000; n += 1) {
    limiter.takeToken(keyPrincipal(`key-x${n}`), 'requests');
    if (n % 5000 === 0) limiter.takeToken(ONE, 'requests');
  }
  expect(limiter.bucketCount).toBe(10_000);
  expect(limiter.takeToken(ONE, 'requests')).toBe(2);
});
