import { afterAll, beforeAll, describe, it } from 'vitest';
import { describeStoreConformance } from '../conformance.js';
import { parsePostgresUrl } from './configuration.js';
import { openPostgresMigrator, openPostgresStore } from './postgres-store.js';
import { startPostgres } from './testing.js';

const engine = await startPostgres();

if ('missing' in engine) {
  describe.skip('the postgres store', () => it(`was not run: ${engine.missing}`));
} else {
  const options = parsePostgresUrl(`${engine.url}?namespace=conformance`);
  beforeAll(async () => {
    const migrator = await openPostgresMigrator(options);
    await migrator.up();
    await migrator.close();
  });
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
