import { afterAll, describe, it } from 'vitest';
import { describeStoreConformance } from '../conformance.js';
import { openPostgresStore } from './postgres-store.js';
import { migrated, startPostgres } from './testing.js';

const engine = await startPostgres();

if ('missing' in engine) {
  describe.skip('the postgres store', () => it(`was not run: ${engine.missing}`));
} else {
  const options = await migrated(engine.url, 'conformance');
  afterAll(() => engine.stop());

  describeStoreConformance('postgres', {
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
}
