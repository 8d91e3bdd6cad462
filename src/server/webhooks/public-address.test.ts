import { expect, it } from 'vitest';
import { isPublicAddress } from './public-address.js';

it.each([
  '8.8.8.8',
  '93.184.216.34',
  '2606:4700:4700::1111',
  '::ffff:8.8.8.8',
  '64:ff9b::8.8.8.8',
  '2002:808:808::1',
])('%s is public', (address) => expect(isPublicAddress(address)).toBe(true));

it.each([
  // unspecified, loopback, private, shared by a carrier, link-local
  ...['0.0.0.0', '0.1.2.3', '127.0.0.1', '127.255.0.1', '10.0.0.1', '172.16.0.1', '172.31.255.255'],
  ...['192.168.1.1', '100.64.0.1', '100.127.255.255', '169.254.169.254', '169.254.0.1'],
  // metadata services
  ...['168.63.129.16', '100.100.100.200', '192.0.0.192', 'fd00:ec2::254'],
  // multicast, broadcast, reserved, documentation, benchmarks
  ...[
    '224.0.0.1',
    '239.255.255.255',
    '255.255.255.255',
    '240.0.0.1',
    '192.0.2.1',
    '198.18.0.1',
    '203.0.113.7',
  ],
  ...[
    '::',
    '::1',
    'fe80::1',
    'fe80::1%eth0',
    'fc00::1',
    'fdff::1',
    'fec0::1',
    'ff02::1',
    '100::1',
    '2001:db8::1',
  ],
  // IPv4 inside IPv6
  ...['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:a9fe:a9fe', '::127.0.0.1', '::ffff:0:127.0.0.1'],
  ...['64:ff9b::127.0.0.1', '64:ff9b::a00:1', '64:ff9b:1::8.8.8.8', '2002:7f00:1::1', '2002:a9fe:a9fe::1'],
  // Teredo, ORCHID, outside of what is assigned
  ...['2001::1', '2001:20::1', '4000::1', '1::1'],
  ...['', 'localhost', '1.2.3', '1.2.3.4.5', 'g::1'],
])('%s is not public', (address) => expect(isPublicAddress(address)).toBe(false));
