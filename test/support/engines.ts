import { startDynamodb } from '../../src/stores/dynamodb/testing.js';
import type { EngineStore } from '../../src/stores/engines.js';
import { engineOf } from '../../src/stores/engines.js';
import { startMysql } from '../../src/stores/mysql/testing.js';
import { startPostgres } from '../../src/stores/postgres/testing.js';
import { startRedis } from '../../src/stores/redis/testing.js';
import type { MissingEngine, TestEngine } from '../../src/stores/testing/engine.js';

export const ENGINES = {
  postgres: startPostgres,
  mysql: startMysql,
  redis: startRedis,
  dynamodb: startDynamodb,
} as const;
export type EngineName = keyof typeof ENGINES;

const started = new Map<EngineName, Promise<TestEngine | MissingEngine>>();

/** One engine of each kind for all the files of a test process, with its schema. It ends with the process. */
export function engine(name: EngineName): Promise<TestEngine | MissingEngine> {
  const known = started.get(name) ?? startedWithSchema(name);
  started.set(name, known);
  return known;
}

async function startedWithSchema(name: EngineName): Promise<TestEngine | MissingEngine> {
  const found = await ENGINES[name]();
  if (!('missing' in found)) await migrate(found.url);
  return found;
}

export async function migrate(url: string): Promise<void> {
  const migrator = await (await engineOf(url))?.migrator(url);
  await migrator?.up();
  await migrator?.close();
}

export async function openEngine(url: string): Promise<EngineStore> {
  const found = await engineOf(url);
  if (found === null) throw new Error(`no engine for ${url}`);
  return found.open(url);
}
