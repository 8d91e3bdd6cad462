import { BlockList, isIP } from 'node:net';

/** Why a connection was closed without an answer. */
export const DROP_REASONS = ['total_limit', 'address_limit', 'silent'] as const;
export type DropReason = (typeof DROP_REASONS)[number];

export const LOOPBACK_ADDRESSES: readonly string[] = ['127.0.0.0/8', '::1'];

/** Addresses and networks: `10.0.0.7`, `10.0.0.0/8`, `2001:db8::/32`. Throws a sentence for anything else. */
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

/** Counts connections per remote address, so that one client cannot take all of them. */
export class AddressLimit {
  private readonly counts = new Map<string, number>();
  private readonly exempt: BlockList;

  constructor(
    private readonly max: number,
    /** Loopback, and proxies: behind one address of theirs are many clients. */
    exempt: readonly string[],
  ) {
    this.exempt = addressList(exempt);
  }

  /** A function to call when the connection is closed; null where the address has as many as it may. */
  acquire(remoteAddress: string): (() => void) | null {
    const address = normalizeAddress(remoteAddress);
    if (this.exempt.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')) return () => {};
    const client = clientKeyOf(address);
    const count = this.counts.get(client) ?? 0;
    if (count >= this.max) return null;
    this.counts.set(client, count + 1);
    return () => this.releaseOne(client);
  }

  /** How many clients have a connection now. */
  get clientCount(): number {
    return this.counts.size;
  }

  private releaseOne(client: string): void {
    const left = (this.counts.get(client) ?? 1) - 1;
    if (left > 0) this.counts.set(client, left);
    else this.counts.delete(client);
  }
}

/** A socket that takes both versions writes IPv4 addresses as IPv6. */
const normalizeAddress = (address: string): string =>
  address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');

/** With IPv6 a client has a whole /64 of addresses to itself. */
function clientKeyOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail] = address.split('::', 2);
  const groups = head === '' ? [] : head.split(':');
  if (tail === undefined) return groups.slice(0, 4).join(':');
  const last = tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - last.length) }, () => '0');
  return [...groups, ...zeros, ...last].slice(0, 4).join(':');
}
