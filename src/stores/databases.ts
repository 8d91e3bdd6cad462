import type { Blobs } from './blobs.js';
import type { Migrator } from './migrator.js';
import type { Store } from './store.js';

/** A store on a database, which can also store the blobs. */
export interface DatabaseStore extends Store {
  readonly blobs: Blobs;
}

export interface Database {
  open(url: string): Promise<DatabaseStore>;
  migrator(url: string): Promise<Migrator>;
}

/** Kinds of databases by URL scheme. Each is loaded, with its driver, on first use. */
const DATABASES: Readonly<Record<string, () => Promise<Database>>> = {
  postgres: loadPostgres,
  postgresql: loadPostgres,
  mysql: loadMysql,
  mariadb: loadMysql,
  redis: loadRedis,
  rediss: loadRedis,
  dynamodb: loadDynamodb,
};

/** The database for a URL; null if the scheme is unknown. */
export async function databaseOf(url: string): Promise<Database | null> {
  const scheme = /^([a-z]+):/.exec(url)?.[1] ?? '';
  return Object.hasOwn(DATABASES, scheme) ? ((await DATABASES[scheme]?.()) ?? null) : null;
}

const defineDatabase = <Options>(
  parse: (url: string) => Options,
  open: (options: Options) => Promise<DatabaseStore>,
  migrator: (options: Options) => Promise<Migrator>,
): Database => ({ open: async (url) => open(parse(url)), migrator: async (url) => migrator(parse(url)) });

async function loadPostgres(): Promise<Database> {
  const { openPostgresStore, openPostgresMigrator } = await import('./postgres/postgres-store.js');
  const { parsePostgresUrl } = await import('./postgres/options.js');
  return defineDatabase(parsePostgresUrl, openPostgresStore, openPostgresMigrator);
}

async function loadMysql(): Promise<Database> {
  const { openMysqlStore, openMysqlMigrator } = await import('./mysql/mysql-store.js');
  const { parseMysqlUrl } = await import('./mysql/options.js');
  return defineDatabase(parseMysqlUrl, openMysqlStore, openMysqlMigrator);
}

async function loadRedis(): Promise<Database> {
  const { openRedisStore, openRedisMigrator } = await import('./redis/redis-store.js');
  const { parseRedisUrl } = await import('./redis/options.js');
  return defineDatabase(parseRedisUrl, openRedisStore, openRedisMigrator);
}

async function loadDynamodb(): Promise<Database> {
  const { openDynamodbStore, openDynamodbMigrator } = await import('./dynamodb/dynamodb-store.js');
  const { parseDynamodbUrl } = await import('./dynamodb/options.js');
  return defineDatabase(parseDynamodbUrl, openDynamodbStore, openDynamodbMigrator);
}
