import { StoreRefused } from '../store.js';

/** `durable`: one primary that syncs before it replies. `ha`: replicas that may take over with the latest writes missing. */
export type RedisProfile = 'durable' | 'ha';

export interface RedisOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly username?: string;
  readonly password?: string;
  readonly database: number;
  /** The prefix of every key. To isolate a tenant, give it a namespace and a user restricted to keys with that prefix. */
  readonly namespace: string;
  readonly profile: RedisProfile;
  readonly connect_timeout_ms: number;
  readonly statement_timeout_ms: number;
}

const FORM = 'redis://[user:password@]host[:port][/database][?profile=durable|ha&namespace=name]';
const PORT = 6379;
const NAMESPACE = 'genesis_fleet';
const CONNECT_TIMEOUT_MS = 3_000;
const STATEMENT_TIMEOUT_MS = 5_000;
const PARAMETERS = new Set(['profile', 'namespace']);

/** No error repeats any part of the URL: it may contain a password. */
export function parseRedisUrl(url: string): RedisOptions {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !['redis:', 'rediss:'].includes(parsed.protocol) || parsed.hostname === '') {
    throw new StoreRefused(`This is no URL of a Redis store. Say ${FORM}`);
  }
  for (const name of parsed.searchParams.keys()) {
    if (!PARAMETERS.has(name)) {
      throw new StoreRefused(`A Redis store has no setting ${JSON.stringify(name)}. Say ${FORM}`);
    }
  }
  const [username, password] = [decoded(parsed.username), decoded(parsed.password)];
  return {
    host: parsed.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: parsed.port === '' ? PORT : Number(parsed.port),
    tls: parsed.protocol === 'rediss:',
    ...(username === '' ? {} : { username }),
    ...(password === '' ? {} : { password }),
    database: databaseOf(parsed.pathname),
    namespace: namespaceOf(parsed.searchParams.get('namespace') ?? NAMESPACE),
    profile: profileOf(parsed.searchParams.get('profile') ?? 'durable'),
    connect_timeout_ms: CONNECT_TIMEOUT_MS,
    statement_timeout_ms: STATEMENT_TIMEOUT_MS,
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new StoreRefused(
      'The user or password of the Redis URL has a % that is not followed by two digits.',
    );
  }
}

function databaseOf(path: string): number {
  const name = path.slice(1);
  if (!/^\d{0,5}$/.test(name)) throw new StoreRefused(`A Redis database is a number. Say ${FORM}`);
  return Number(name);
}

/** Excludes the colon, which ends it in a key, and the special characters of ACL patterns. */
function namespaceOf(name: string): string {
  if (/^[A-Za-z0-9_.-]{1,64}$/.test(name)) return name;
  throw new StoreRefused('A namespace has 1 to 64 letters, digits and _ . -');
}

function profileOf(name: string): RedisProfile {
  if (name === 'durable' || name === 'ha') return name;
  throw new StoreRefused(`There is no profile ${JSON.stringify(name)}: it is durable or ha.`);
}
