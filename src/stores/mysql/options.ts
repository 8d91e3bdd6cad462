import { isIP } from 'node:net';
import { choiceOf, decodeUrlPart, integerOf, parseDatabaseUrl, serverAndLoginOf } from '../database-url.js';
import { StoreRefused } from '../store.js';

export type MysqlOptions = Readonly<ReturnType<typeof parseMysqlUrl>>;

const FORMAT = {
  database: 'MySQL',
  schemes: ['mysql', 'mariadb'],
  parameters: ['tls', 'pool', 'connect_ms', 'statement_ms'],
  example: 'mysql://user:password@host:port/namespace?tls=true&pool=10',
};

export function parseMysqlUrl(text: string) {
  const url = parseDatabaseUrl(text, FORMAT);
  const { host, port, user, password } = serverAndLoginOf(url, 3306);
  const namespace = decodeUrlPart(url.pathname.slice(1)) || 'genesis_fleet';
  if (!/^[A-Za-z][A-Za-z0-9_]{0,62}$/.test(namespace)) {
    throw new StoreRefused(
      `The namespace ${namespace} is invalid. Use a letter, then at most 62 letters, digits and _.`,
    );
  }
  const tls = choiceOf(url, 'tls', { false: false, true: true });
  // The driver can check a certificate only against a host name.
  if (tls && isIP(host) !== 0) {
    throw new StoreRefused(
      'With tls=true the host must be the host name in the certificate, not an IP address.',
    );
  }
  return {
    host,
    port,
    user: user || 'root',
    password,
    /** The database that holds everything; a tenant may have its own. */
    namespace,
    /** Encrypts the connection and checks the server's certificate. */
    tls,
    /** Maximum number of connections. */
    pool_size: integerOf(url, 'pool', 10, 1, 200),
    connect_timeout_ms: integerOf(url, 'connect_ms', 5_000, 100, 60_000),
    statement_timeout_ms: integerOf(url, 'statement_ms', 10_000, 1_000, 600_000),
  };
}
