import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Inside of Azure, this address serves metadata and credentials, although it is in a public range. */
const AZURE_METADATA = '168.63.129.16';
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');
const NAT64 = ipaddr.parseCIDR('64:ff9b::/96');

/**
 * Whether an address is on the public internet: not private, loopback, link-local (metadata services), shared by a
 * carrier, multicast or reserved. An IPv6 address that contains an IPv4 address is public if the IPv4 address is.
 */
export function isPublicAddress(text: string): boolean {
  if (isIP(text) === 0 || text.includes('%')) return false;
  const address = ipaddr.parse(text);
  if (!isIPv6(address)) return address.range() === 'unicast' && address.toString() !== AZURE_METADATA;
  const embedded = embeddedIPv4(address);
  if (embedded !== null) return isPublicAddress(embedded);
  return address.range() === 'unicast' && address.match(GLOBAL_UNICAST);
}

const isIPv6 = (address: ipaddr.IPv4 | ipaddr.IPv6): address is ipaddr.IPv6 => address.kind() === 'ipv6';

/** The IPv4 address in an IPv4-mapped, NAT64 or 6to4 address; null for every other address. */
function embeddedIPv4(address: ipaddr.IPv6): string | null {
  const bytes = address.toByteArray();
  if (address.isIPv4MappedAddress() || address.match(NAT64)) return bytes.slice(12).join('.');
  return address.range() === '6to4' ? bytes.slice(2, 6).join('.') : null;
}
