import { choiceOf, decodeUrlPart, integerOf, parseDatabaseUrl, serverAndLoginOf } from '../database-url.js';
import { StoreRefused } from '../store.js';

export type PostgresOptions = Readonly<ReturnType<typeof parsePostgresUrl>>;

const FORMAT = {
  database: 'PostgreSQL',
  schemes: ['postgres', 'postgresql'],
  parameters: ['namespace', 'sslmode', 'connections', 'connect_timeout_ms', 'statement_timeout_ms'],
  example: 'postgres://user:password@host:5432/database',
};

const SSL_MODES = {
  disable: 'off',
  'no-verify': 'unverified',
  require: 'verified',
  'verify-full': 'verified',
} as const;

/** A name that needs no quotes in SQL, and is short enough for the names of its roles. */
const NAMESPACE = /^(?!pg_)[a-z_][a-z0-9_]{0,49}$/;

export function parsePostgresUrl(text: string) {
  const url = parseDatabaseUrl(text, FORMAT);
  const { host, port, user, password } = serverAndLoginOf(url, 5432);
  const database = decodeUrlPart(url.pathname.slice(1));
  if (database === '')
    throw new StoreRefused(`The PostgreSQL URL has no database. Expected ${FORMAT.example}`);
  const namespace = url.searchParams.get('namespace') ?? 'genesis_fleet';
  if (!NAMESPACE.test(namespace)) {
    throw new StoreRefused(
      `The namespace ${namespace} is invalid. Use 1 to 50 lower-case letters, digits and _, not starting with a digit or pg_.`,
    );
  }
  return {
    host,
    port,
    database,
    user: user || 'postgres',
    password: password || null,
    ssl: choiceOf<'off' | 'unverified' | 'verified'>(url, 'sslmode', SSL_MODES),
    /** The schema that holds everything; a tenant may have its own. */
    namespace,
    connections_max: integerOf(url, 'connections', 8, 1, 100),
    connect_timeout_ms: integerOf(url, 'connect_timeout_ms', 5_000, 1, 60_000),
    statement_timeout_ms: integerOf(url, 'statement_timeout_ms', 5_000, 1, 600_000),
  };
}
