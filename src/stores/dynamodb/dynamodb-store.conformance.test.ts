import { describeStoreConformance } from '../conformance.js';
import { openDynamodbStore } from './dynamodb-store.js';
import { describeOn, setUp } from './testing/setup.js';

describeOn(await setUp(), 'on its engine', ({ options }) => {
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
