import { StoreRefused } from '../store.js';

export interface PostgresOptions {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password: string | null;
  readonly ssl: 'off' | 'unverified' | 'verified';
  /** The schema that holds everything; a tenant may have its own. */
  readonly namespace: string;
  readonly connections_max: number;
  readonly connect_timeout_ms: number;
  readonly statement_timeout_ms: number;
}

export const DEFAULT_NAMESPACE = 'genesis_fleet';
const CONNECTIONS_MAX = 8;
const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 5_000;

const SSL_MODES: Readonly<Record<string, PostgresOptions['ssl']>> = {
  disable: 'off',
  'no-verify': 'unverified',
  require: 'verified',
  'verify-full': 'verified',
};

const EXAMPLE = 'postgres://user:password@host:5432/database';

/**
 * Parses `postgres://user:password@host:port/database`, with optional parameters `namespace`, `sslmode`, `connections`,
 * `connect_timeout_ms`, `statement_timeout_ms`. Errors do not contain the password.
 */
export function parsePostgresUrl(url: string): PostgresOptions {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !/^postgres(ql)?:$/.test(parsed.protocol) || parsed.hostname === '') {
    throw new StoreRefused(`This is no PostgreSQL URL. It looks like ${EXAMPLE}`);
  }
  const database = decodeURIComponent(parsed.pathname.slice(1));
  if (database === '')
    throw new StoreRefused(`The PostgreSQL URL names no database. It looks like ${EXAMPLE}`);
  assertKnownSettings(parsed.searchParams);
  return {
    host: decodeURIComponent(parsed.hostname.replace(/^\[(.*)\]$/, '$1')),
    port: parsed.port === '' ? 5432 : Number(parsed.port),
    database,
    user: decodeURIComponent(parsed.username) || 'postgres',
    password: parsed.password === '' ? null : decodeURIComponent(parsed.password),
    ssl: sslOf(parsed.searchParams.get('sslmode')),
    namespace: namespaceOf(parsed.searchParams.get('namespace')),
    connections_max: countOf(parsed.searchParams, 'connections', CONNECTIONS_MAX, 100),
    connect_timeout_ms: countOf(parsed.searchParams, 'connect_timeout_ms', CONNECT_TIMEOUT_MS, 60_000),
    statement_timeout_ms: countOf(parsed.searchParams, 'statement_timeout_ms', STATEMENT_TIMEOUT_MS, 600_000),
  };
}

const KNOWN = ['namespace', 'sslmode', 'connections', 'connect_timeout_ms', 'statement_timeout_ms'];

function assertKnownSettings(params: URLSearchParams): void {
  for (const name of params.keys()) {
    if (!KNOWN.includes(name)) {
      throw new StoreRefused(
        `The PostgreSQL URL has an unknown setting ${name}. Known: ${KNOWN.join(', ')}.`,
      );
    }
  }
}

function sslOf(mode: string | null): PostgresOptions['ssl'] {
  const ssl = SSL_MODES[mode ?? 'disable'];
  if (ssl !== undefined) return ssl;
  throw new StoreRefused(`sslmode is one of ${Object.keys(SSL_MODES).join(', ')}.`);
}

/** Lower case without quoting, and short enough for the names of its roles. */
function namespaceOf(name: string | null): string {
  const namespace = name ?? DEFAULT_NAMESPACE;
  if (/^[a-z_][a-z0-9_]{0,49}$/.test(namespace) && !namespace.startsWith('pg_')) return namespace;
  throw new StoreRefused(
    'A namespace has lower-case letters, digits and _, at most 50, and begins with neither a digit nor pg_.',
  );
}

function countOf(params: URLSearchParams, name: string, fallback: number, max: number): number {
  const text = params.get(name);
  if (text === null) return fallback;
  const count = Number(text);
  if (Number.isSafeInteger(count) && count >= 1 && count <= max) return count;
  throw new StoreRefused(`${name} is a whole number from 1 to ${max}.`);
}
