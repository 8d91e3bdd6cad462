import { describe, onTestFinished } from 'vitest';
import type { ProcessClock } from '../../clock.js';
import { onSharedDatabase } from '../../testing/shared-database.js';
import { type DynamodbStore, openDynamodbStore } from '../dynamodb-store.js';
import type { DynamodbOptions } from '../options.js';
import { optionsWithLongTimeouts } from '../testing.js';
import { type DynamodbProxy, startDynamodbProxy } from './proxy.js';

export interface DynamodbHarness {
  readonly options: DynamodbOptions;
  /** Opens a store that is closed when the test ends. */
  store(options?: DynamodbOptions, clock?: ProcessClock): Promise<DynamodbStore>;
  proxy(): Promise<DynamodbProxy>;
}

export function createHarness(url: string): DynamodbHarness {
  const options = optionsWithLongTimeouts(url);
  return {
    options,
    store: async (from = options, clock) => {
      const store = await openDynamodbStore(from, clock);
      onTestFinished(() => store.close());
      return store;
    },
    proxy: async () => {
      const proxy = await startDynamodbProxy(options);
      onTestFinished(() => proxy.close());
      return proxy;
    },
  };
}

/** Registers tests on the shared database of this process, whose tables contain data of other tests. */
export const describeOnDynamodb = (name: string, tests: (harness: DynamodbHarness) => void): Promise<void> =>
  onSharedDatabase('dynamodb', ({ url }) => {
    describe(name, () => tests(createHarness(url)));
  });
