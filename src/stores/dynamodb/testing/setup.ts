import { randomUUID } from 'node:crypto';
import { afterAll, describe, it, onTestFinished } from 'vitest';
import type { ProcessClock } from '../../clock.js';
import type { MissingEngine, TestEngine } from '../../testing/engine.js';
import { type DynamodbOptions, parseDynamodbUrl } from '../configuration.js';
import { type DynamodbStore, openDynamodbMigrator, openDynamodbStore } from '../dynamodb-store.js';
import { startDynamodb } from '../testing.js';
import { startProxy, type TestProxy } from './proxy.js';

export interface Setup {
  readonly engine: TestEngine;
  readonly options: DynamodbOptions;
  /** Closed when the test ends. */
  store(options?: DynamodbOptions, clock?: ProcessClock): Promise<DynamodbStore>;
  proxy(): Promise<TestProxy>;
}

/** One engine with its tables for all tests of a file, or why there is none. */
export async function setUp(): Promise<Setup | MissingEngine> {
  const engine = await startDynamodb();
  if ('missing' in engine) return engine;
  afterAll(() => engine.stop());
  const options = { ...parseDynamodbUrl(engine.url), namespace: `test-${randomUUID()}` };
  const migrator = await openDynamodbMigrator(options);
  await migrator.up();
  await migrator.close();
  return {
    engine,
    options,
    store: async (from = options, clock) => {
      const store = await openDynamodbStore(from, clock);
      onTestFinished(() => store.close());
      return store;
    },
    proxy: async () => {
      const proxy = await startProxy(options);
      onTestFinished(() => proxy.close());
      return proxy;
    },
  };
}

/** Tests that need the engine; where it is missing, one that says so by name. */
export function describeOn(setup: Setup | MissingEngine, name: string, body: (setup: Setup) => void): void {
  describe(name, () => {
    if ('missing' in setup) it.skip(`not run: ${setup.missing}`, () => {});
    else body(setup);
  });
}
