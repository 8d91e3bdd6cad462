import { describe, onTestFinished } from 'vitest';
import type { ProcessClock } from '../../clock.js';
import { onSharedEngine } from '../../testing/shared-engine.js';
import type { DynamodbOptions } from '../configuration.js';
import { type DynamodbStore, openDynamodbStore } from '../dynamodb-store.js';
import { patientOptions } from '../testing.js';
import { startProxy, type TestProxy } from './proxy.js';

export interface Setup {
  readonly options: DynamodbOptions;
  /** Closed when the test ends. */
  store(options?: DynamodbOptions, clock?: ProcessClock): Promise<DynamodbStore>;
  proxy(): Promise<TestProxy>;
}

export function setUp(url: string): Setup {
  const options = patientOptions(url);
  return {
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

/** A group of tests on the engine of this process, in tables that hold what other tests have written. */
export const describeOnDynamodb = (name: string, tests: (setup: Setup) => void): Promise<void> =>
  onSharedEngine('dynamodb', ({ url }) => {
    describe(name, () => tests(setUp(url)));
  });
