import { choiceOf, parseDatabaseUrl, serverAndLoginOf } from '../database-url.js';
import { StoreRefused } from '../store.js';

export type RedisOptions = Readonly<ReturnType<typeof parseRedisUrl>>;

const FORMAT = {
  database: 'Redis',
  schemes: ['redis', 'rediss'],
  parameters: ['profile', 'namespace'],
  example: 'redis://[user:password@]host[:port][/database][?profile=durable|ha&namespace=name]',
};

/** `durable`: one primary that syncs before it replies. `ha`: replicas that may take over with the latest writes missing. */
const PROFILES = { durable: 'durable', ha: 'ha' } as const;

export function parseRedisUrl(text: string) {
  const url = parseDatabaseUrl(text, FORMAT);
  const { host, port, user, password } = serverAndLoginOf(url, 6379);
  const database = url.pathname.slice(1);
  if (!/^\d{0,5}$/.test(database)) {
    throw new StoreRefused(
      `The database in a Redis URL must be a number of at most 5 digits, not ${database}. Expected ${FORMAT.example}`,
    );
  }
  const namespace = url.searchParams.get('namespace') ?? 'genesis_fleet';
  // Excludes the colon, which ends the namespace in a key, and the special characters of ACL patterns.
  if (!/^[A-Za-z0-9_.-]{1,64}$/.test(namespace)) {
    throw new StoreRefused(
      `The namespace ${namespace} is invalid. Use 1 to 64 letters, digits or the characters _ . -`,
    );
  }
  return {
    host,
    port,
    tls: url.protocol === 'rediss:',
    /** Empty: the default user. */
    username: user,
    password,
    database: Number(database),
    /** The prefix of every key. To isolate a tenant, give it a namespace and a user restricted to keys with that prefix. */
    namespace,
    profile: choiceOf<'durable' | 'ha'>(url, 'profile', PROFILES),
    connect_timeout_ms: 3_000,
    statement_timeout_ms: 5_000,
  };
}
