import { BlockList, isIP } from 'node:net';

/** Why a connection was closed without a response. */
export const DROP_REASONS = ['total_limit', 'address_limit', 'silent', 'pipelining'] as const;
export type DropReason = (typeof DROP_REASONS)[number];

export const LOOPBACK_ADDRESSES: readonly string[] = ['127.0.0.0/8', '::1'];

/** Parses addresses and networks: `10.0.0.7`, `10.0.0.0/8`, `2001:db8::/32`. Throws a readable message for anything else. */
export function addressList(addresses: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of addresses) {
    const [, address = '', prefix] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
    const version = isIP(address);
    const bitsMax = version === 4 ? 32 : 128;
    const bits = Number(prefix ?? bitsMax);
    if (version === 0 || bits > bitsMax) {
      throw new RangeError(`${text} is not an IP address or a network such as 10.0.0.0/8.`);
    }
    list.addSubnet(address, bits, version === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

/** Limits connections per client address, so that one client cannot take all of them. */
export class AddressLimit {
  private readonly counts = new Map<string, number>();
  private readonly exempt: BlockList;

  constructor(
    private readonly max: number,
    /** Loopback and proxies, since one proxy address stands for many clients. */
    exempt: readonly string[],
  ) {
    this.exempt = addressList(exempt);
  }

  /** Returns a function to call when the connection closes; null if the address is at its limit. */
  acquire(remoteAddress: string): (() => void) | null {
    const address = normalizeAddress(remoteAddress);
    if (this.exempt.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')) return () => {};
    const client = clientKeyOf(address);
    const count = this.counts.get(client) ?? 0;
    if (count >= this.max) return null;
    this.counts.set(client, count + 1);
    return () => this.releaseOne(client);
  }

  /** Number of clients with an open connection. */
  get clientCount(): number {
    return this.counts.size;
  }

  private releaseOne(client: string): void {
    const remainingCount = (this.counts.get(client) ?? 1) - 1;
    if (remainingCount > 0) this.counts.set(client, remainingCount);
    else this.counts.delete(client);
  }
}

/** A dual-stack socket reports IPv4 addresses in IPv6 form. */
const normalizeAddress = (address: string): string =>
  address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');

/** The key that a client is counted under. An IPv6 client usually controls a whole /64, so each /64 counts as one client. */
function clientKeyOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail] = address.split('::', 2);
  const groups = head === '' ? [] : head.split(':');
  if (tail === undefined) return groups.slice(0, 4).join(':');
  const last = tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - last.length) }, () => '0');
  return [...groups, ...zeros, ...last].slice(0, 4).join(':');
}
