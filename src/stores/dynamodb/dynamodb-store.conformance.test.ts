import { describeStoreConformance } from '../conformance.js';
import { onSharedDatabase } from '../testing/shared-database.js';
import { openDynamodbStore } from './dynamodb-store.js';
import { optionsWithLongTimeouts } from './testing.js';

await onSharedDatabase('dynamodb', ({ url }) => {
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
