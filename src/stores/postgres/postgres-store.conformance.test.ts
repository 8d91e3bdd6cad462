import { describeStoreConformance } from '../conformance.js';
import { onSharedDatabase } from '../testing/shared-database.js';
import { openPostgresStore } from './postgres-store.js';
import { optionsWithLongTimeouts } from './testing.js';

await onSharedDatabase('postgres', ({ url }) => {
  const options = optionsWithLongTimeouts(url);
  // req: STO-001, STO-002
  describeStoreConformance('postgres', {
    hasDueIndex: true,
    open: async () => {
      let store = await openPostgresStore(options);
      return {
        store,
        reopen: async () => {
          await store.close();
          store = await openPostgresStore(options);
          return store;
        },
      };
    },
  });
});
