import type { DatabaseStore } from '../databases.js';
import { openDynamodbStore } from '../dynamodb/dynamodb-store.js';
import { optionsWithLongTimeouts as dynamodbOptions } from '../dynamodb/testing.js';
import { openMysqlStore } from '../mysql/mysql-store.js';
import { optionsWithLongTimeouts as mysqlOptions } from '../mysql/testing.js';
import { openPostgresStore } from '../postgres/postgres-store.js';
import { optionsWithLongTimeouts as postgresOptions } from '../postgres/testing.js';
import { openRedisStore } from '../redis/redis-store.js';
import { optionsWithLongTimeouts as redisOptions } from '../redis/testing.js';

const OPEN: Readonly<Record<string, (url: string) => Promise<DatabaseStore>>> = {
  'postgres:': (url) => openPostgresStore(postgresOptions(url)),
  'mysql:': (url) => openMysqlStore(mysqlOptions(url)),
  'redis:': (url) => openRedisStore(redisOptions(url)),
  'dynamodb:': (url) => openDynamodbStore(dynamodbOptions(url)),
};

/** Opens the store of a URL as a coordinator does, but with timeouts that no slow machine reaches. */
export function openWithLongTimeouts(url: string): Promise<DatabaseStore> {
  const open = OPEN[new URL(url).protocol];
  if (open === undefined) throw new Error(`There is no database for ${url}.`);
  return open(url);
}
