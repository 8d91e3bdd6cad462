import { startDynamodb } from '../dynamodb/testing.js';
import { engineOf } from '../engines.js';
import { startMysql } from '../mysql/testing.js';
import { startPostgres } from '../postgres/testing.js';
import { startRedis } from '../redis/testing.js';
import type { MissingEngine, TestEngine } from './engine.js';
import { onEngine } from './on-engine.js';

export const ENGINES = {
  postgres: startPostgres,
  mysql: startMysql,
  redis: startRedis,
  dynamodb: startDynamodb,
} as const;
export type EngineName = keyof typeof ENGINES;
export const ENGINE_NAMES = Object.keys(ENGINES) as EngineName[];

const started = new Map<EngineName, Promise<TestEngine | MissingEngine>>();

/**
 * Registers tests on the database that all files of a test process share. It has its schema and the data of other tests,
 * and ends with the process: no test may kill, freeze or configure it.
 */
export const onSharedEngine = (
  name: EngineName,
  tests: (engine: Pick<TestEngine, 'url'>) => void | Promise<void>,
): Promise<void> => onEngine(name, () => sharedEngine(name), tests);

export function sharedEngine(name: EngineName): Promise<TestEngine | MissingEngine> {
  const known = started.get(name) ?? startMigrated(name);
  started.set(name, known);
  return known;
}

/** Starts a new database with its schema. */
export async function startMigrated(name: EngineName): Promise<TestEngine | MissingEngine> {
  const found = await ENGINES[name]();
  if (!('missing' in found)) await migrate(found.url);
  return found;
}

export async function migrate(url: string): Promise<void> {
  const migrator = await (await engineOf(url))?.migrator(url);
  await migrator?.up();
  await migrator?.close();
}
