import { describeStoreConformance } from '../conformance.js';
import { onSharedEngine } from '../testing/shared-engine.js';
import { openDynamodbStore } from './dynamodb-store.js';
import { optionsWithLongTimeouts } from './testing.js';

await onSharedEngine('dynamodb', ({ url }) => {
  const options = optionsWithLongTimeouts(url);
  // req: STO-001, STO-006
  describeStoreConformance('dynamodb', {
    open: async () => {
      let store = await openDynamodbStore(options);
      return {
        store,
        reopen: async () => {
          await store.close();
          store = await openDynamodbStore(options);
          return store;
        },
      };
    },
  });
});
