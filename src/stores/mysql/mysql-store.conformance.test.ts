import { describeStoreConformance } from '../conformance.js';
import { onSharedDatabase } from '../testing/shared-database.js';
import { openMysqlStore } from './mysql-store.js';
import { optionsWithLongTimeouts } from './testing.js';

await onSharedDatabase('mysql', ({ url }) => {
  const options = optionsWithLongTimeouts(url);
  // req: STO-001, STO-003
  describeStoreConformance('mysql', {
    hasDueIndex: true,
    open: async () => {
      let store = await openMysqlStore(options);
      return {
        store,
        reopen: async () => {
          await store.close();
          store = await openMysqlStore(options);
          return store;
        },
      };
    },
  });
});
