import { databaseOf } from '../databases.js';
import { startDynamodb } from '../dynamodb/testing.js';
import { startMysql } from '../mysql/testing.js';
import { startPostgres } from '../postgres/testing.js';
import { startRedis } from '../redis/testing.js';
import type { MissingDatabase, TestDatabase } from './database.js';
import { onDatabase } from './on-database.js';

const DATABASES = {
  postgres: startPostgres,
  mysql: startMysql,
  redis: startRedis,
  dynamodb: startDynamodb,
} as const;
export type DatabaseName = keyof typeof DATABASES;
export const DATABASE_NAMES = Object.keys(DATABASES) as DatabaseName[];

const started = new Map<DatabaseName, Promise<TestDatabase | MissingDatabase>>();

/**
 * Registers tests on the database that all files of a test process share. It has its schema and the data of other tests,
 * and ends with the process: no test may kill, freeze or configure it.
 */
export const onSharedDatabase = (
  name: DatabaseName,
  tests: (database: Pick<TestDatabase, 'url'>) => void | Promise<void>,
): Promise<void> => onDatabase(name, () => sharedDatabase(name), tests);

function sharedDatabase(name: DatabaseName): Promise<TestDatabase | MissingDatabase> {
  const database = started.get(name) ?? startMigrated(name);
  started.set(name, database);
  return database;
}

/** Starts a new database with its schema. */
export async function startMigrated(name: DatabaseName): Promise<TestDatabase | MissingDatabase> {
  const database = await DATABASES[name]();
  if (!('missing' in database)) await migrate(database.url);
  return database;
}

export async function migrate(url: string): Promise<void> {
  const migrator = await (await databaseOf(url))?.migrator(url);
  await migrator?.up();
  await migrator?.close();
}
