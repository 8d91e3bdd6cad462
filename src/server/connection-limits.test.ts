import { expect, test } from 'vitest';
import { AddressLimit, addressList, LOOPBACK_ADDRESSES } from './connection-limits.js';

/** How many connections from these addresses are admitted, one after the other. */
function countAdmitted(limit: AddressLimit, addresses: readonly string[]): number {
  return addresses.filter((address) => limit.acquire(address) !== null).length;
}

test('limits the connections per address, and accepts another when one closes', () => {
  const limit = new AddressLimit(2, []);
  const leave = limit.acquire('192.0.2.1');
  expect(countAdmitted(limit, ['192.0.2.1', '192.0.2.1', '192.0.2.2'])).toBe(2);
  leave?.();
  expect(countAdmitted(limit, ['192.0.2.1', '192.0.2.1'])).toBe(1);
});

test('removes an address that has no connections', () => {
  const limit = new AddressLimit(2, []);
  for (let at = 0; at < 1000; at += 1) limit.acquire(`192.0.2.${at % 250}`)?.();
  expect(limit.clientCount).toBe(0);
});

test.each([
  ['an IPv4 address written as IPv6', '192.0.2.1', '::ffff:192.0.2.1'],
  ['another address of the same /64', '2001:db8:1:2::1', '2001:db8:1:2:3:4:5:6'],
  ['another address of the same /64 with zeros in it', '2001:db8::1', '2001:db8:0:0:1::'],
  ['a link-local address of the same network', 'fe80::1%eth0', 'fe80::2%eth0'],
])('counts %s as the same client', (_, first, second) => {
  expect(countAdmitted(new AddressLimit(1, []), [first, second])).toBe(1);
});

test.each([
  ['192.0.2.1', '192.0.2.2'],
  ['2001:db8:1:2::1', '2001:db8:1:3::1'],
  ['::1', '192.0.2.1'],
])('counts %s and %s as two clients', (first, second) => {
  expect(countAdmitted(new AddressLimit(1, []), [first, second])).toBe(2);
});

test.each(['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1', '10.1.2.3', '2001:db8::7', '192.0.2.9'])(
  'does not limit %s when loopback and proxies are exempt',
  (address) => {
    const limit = new AddressLimit(1, [...LOOPBACK_ADDRESSES, '10.0.0.0/8', '2001:db8::/32', '192.0.2.9']);
    expect(countAdmitted(limit, [address, address, address])).toBe(3);
    expect(limit.clientCount).toBe(0);
  },
);

test.each([
  '',
  'proxy.example.com',
  '10.0.0.0/33',
  '10.0.0.0/',
  '10.0.0.0/x',
  '10.0.0',
  '::1/129',
  '10.0.0.0/8/8',
])('refuses %j, which is not an address or a network', (address) => {
  expect(() => addressList([address])).toThrow('is not an IP address or a network');
});
