import { describeStoreConformance } from '../conformance.js';
import { onSharedDatabase } from '../testing/shared-database.js';
import { openRedisStore } from './redis-store.js';
import { optionsWithLongTimeouts } from './testing.js';

await onSharedDatabase('redis', ({ url }) => {
  const options = optionsWithLongTimeouts(url);
  // req: STO-001, STO-004
  describeStoreConformance('redis', {
    open: async () => {
      let store = await openRedisStore(options);
      return {
        store,
        reopen: async () => {
          await store.close();
          store = await openRedisStore(options);
          return store;
        },
      };
    },
  });

  describeStoreConformance('redis (ha)', {
    open: async () => ({ store: await openRedisStore({ ...options, profile: 'ha' }) }),
  });
});
