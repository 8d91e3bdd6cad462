import { afterAll, describe, it } from 'vitest';
import { describeStoreConformance } from '../conformance.js';
import { parseMysqlUrl } from './configuration.js';
import { openMysqlMigrator, openMysqlStore } from './mysql-store.js';
import { startMysql } from './testing.js';

const engine = await startMysql();

if ('missing' in engine) {
  describe.skip(`the mysql store (${engine.missing})`, () => it('runs', () => {}));
} else {
  const options = parseMysqlUrl(engine.url);
  const migrator = await openMysqlMigrator(options);
  await migrator.up();
  await migrator.close();
  afterAll(() => engine.stop());

  describeStoreConformance('mysql', {
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
}
