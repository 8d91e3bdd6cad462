import { BlockList, isIP } from 'node:net';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Whether a host, as one writes it down, is this machine and no other. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  if (bare === 'localhost') return true;
  const version = isIP(bare);
  return version !== 0 && LOOPBACK.check(bare, version === 6 ? 'ipv6' : 'ipv4');
}

/** Whether whoever sent the request meant this machine: by the host it named, and the page it came from. */
export function reachesLoopback(request: {
  host?: string | undefined;
  origin?: string | undefined;
}): boolean {
  const { host, origin } = request;
  if (host !== undefined && !isLoopback(hostnameOf(`http://${host}`))) return false;
  return origin === undefined || isLoopback(hostnameOf(origin));
}

function hostnameOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : '';
}
