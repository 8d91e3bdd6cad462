import { randomUUID } from 'node:crypto';
import { afterAll, onTestFinished } from 'vitest';
import type { ProcessClock } from '../clock.js';
import type { TestEngine } from '../testing/engine.js';
import { type DynamodbOptions, parseDynamodbUrl } from './configuration.js';
import { type DynamodbStore, openDynamodbMigrator, openDynamodbStore } from './dynamodb-store.js';
import { startProxy, type TestProxy } from './proxy.testing.js';
import { startDynamodb } from './testing.js';

export interface Setup {
  readonly engine: TestEngine;
  readonly options: DynamodbOptions;
  /** Closed when the test ends. */
  store(options?: DynamodbOptions, clock?: ProcessClock): Promise<DynamodbStore>;
  proxy(): Promise<TestProxy>;
}

/** One engine with its tables for all tests of a file; null where there is none to be had. */
export async function setUp(): Promise<Setup | null> {
  const engine = await startDynamodb();
  if ('missing' in engine) return null;
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
