import { isIP } from 'node:net';
import { StoreRefused } from '../store.js';

export interface MysqlOptions {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  /** The database; a tenant of level 2 has its own. */
  readonly namespace: string;
  /** Encrypts the connection and checks the server's certificate. */
  readonly tls: boolean;
  /** Maximum number of connections. */
  readonly pool_size: number;
  readonly connect_timeout_ms: number;
  /** Timeout of a statement. */
  readonly statement_timeout_ms: number;
}

const DEFAULTS = {
  namespace: 'genesis_fleet',
  port: 3306,
  pool: 10,
  connect_ms: 5_000,
  statement_ms: 10_000,
};
const NAMESPACE = /^[A-Za-z][A-Za-z0-9_]{0,62}$/;
const PARAMETERS = new Set(['tls', 'pool', 'connect_ms', 'statement_ms']);

/** Parses `mysql://user:password@host:port/namespace?tls=true&pool=10`, or the same with `mariadb://`. */
export function parseMysqlUrl(text: string): MysqlOptions {
  const url = parseUrl(text);
  const unknown = [...url.searchParams.keys()].find((name) => !PARAMETERS.has(name));
  if (unknown !== undefined)
    throwRefused(`it has no parameter "${unknown}", only ${[...PARAMETERS].join(', ')}`);
  const namespace = decodeURIComponent(url.pathname.slice(1)) || DEFAULTS.namespace;
  if (!NAMESPACE.test(namespace)) {
    throwRefused('the namespace after the host is a letter, then letters, digits and _, at most 63 in all');
  }
  const tls = url.searchParams.get('tls') ?? 'false';
  if (tls !== 'true' && tls !== 'false') throwRefused('tls is true or false');
  const host = url.hostname.replace(/^\[|\]$/g, '');
  // The driver can check a certificate only against a host name.
  if (tls === 'true' && isIP(host) !== 0)
    throwRefused('with tls the host is a name, the one in its certificate');
  return {
    host,
    port: url.port === '' ? DEFAULTS.port : Number(url.port),
    user: decodeURIComponent(url.username) || 'root',
    password: decodeURIComponent(url.password),
    namespace,
    tls: tls === 'true',
    pool_size: integerParameter(url, 'pool', DEFAULTS.pool, 1, 200),
    connect_timeout_ms: integerParameter(url, 'connect_ms', DEFAULTS.connect_ms, 100, 60_000),
    statement_timeout_ms: integerParameter(url, 'statement_ms', DEFAULTS.statement_ms, 1_000, 600_000),
  };
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'mysql:' && url.protocol !== 'mariadb:') || url.hostname === '') {
    return throwRefused('expected mysql://user:password@host:port/namespace');
  }
  return url;
}

function integerParameter(url: URL, name: string, fallback: number, min: number, max: number): number {
  const value = Number(url.searchParams.get(name) ?? fallback);
  if (!Number.isInteger(value) || value < min || value > max) {
    throwRefused(`${name} is a whole number from ${min} to ${max}`);
  }
  return value;
}

/** The URL is not shown: it may contain a password. */
function throwRefused(reason: string): never {
  throw new StoreRefused(`This is no URL of a MySQL store: ${reason}.`);
}
