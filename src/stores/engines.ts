import type { Blobs } from './blobs.js';
import type { Migrator } from './migrator.js';
import type { Store } from './store.js';

/** A store on a database, which can also store the blobs. */
export interface EngineStore extends Store {
  readonly blobs: Blobs;
}

export interface Engine {
  open(url: string): Promise<EngineStore>;
  migrator(url: string): Promise<Migrator>;
}

/** Kinds of databases by URL scheme. Each is loaded, with its driver, on first use. */
const ENGINES: Readonly<Record<string, () => Promise<Engine>>> = {
  postgres: postgres,
  postgresql: postgres,
  mysql: mysql,
  mariadb: mysql,
  redis: redis,
  rediss: redis,
  dynamodb: dynamodb,
};

/** The database for a URL; null if the scheme is unknown. */
export async function engineOf(url: string): Promise<Engine | null> {
  const scheme = /^([a-z]+):/.exec(url)?.[1] ?? '';
  return Object.hasOwn(ENGINES, scheme) ? ((await ENGINES[scheme]?.()) ?? null) : null;
}

const engine = <Options>(
  parse: (url: string) => Options,
  open: (options: Options) => Promise<EngineStore>,
  migrator: (options: Options) => Promise<Migrator>,
): Engine => ({ open: async (url) => open(parse(url)), migrator: async (url) => migrator(parse(url)) });

async function postgres(): Promise<Engine> {
  const { openPostgresStore, openPostgresMigrator } = await import('./postgres/postgres-store.js');
  const { parsePostgresUrl } = await import('./postgres/options.js');
  return engine(parsePostgresUrl, openPostgresStore, openPostgresMigrator);
}

async function mysql(): Promise<Engine> {
  const { openMysqlStore, openMysqlMigrator } = await import('./mysql/mysql-store.js');
  const { parseMysqlUrl } = await import('./mysql/options.js');
  return engine(parseMysqlUrl, openMysqlStore, openMysqlMigrator);
}

async function redis(): Promise<Engine> {
  const { openRedisStore, openRedisMigrator } = await import('./redis/redis-store.js');
  const { parseRedisUrl } = await import('./redis/options.js');
  return engine(parseRedisUrl, openRedisStore, openRedisMigrator);
}

async function dynamodb(): Promise<Engine> {
  const { openDynamodbStore, openDynamodbMigrator } = await import('./dynamodb/dynamodb-store.js');
  const { parseDynamodbUrl } = await import('./dynamodb/options.js');
  return engine(parseDynamodbUrl, openDynamodbStore, openDynamodbMigrator);
}
