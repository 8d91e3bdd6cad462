import { afterAll, describe, it } from 'vitest';
import { describeStoreConformance } from '../conformance.js';
import { parseDynamodbUrl } from './configuration.js';
import { openDynamodbMigrator, openDynamodbStore } from './dynamodb-store.js';
import { startDynamodb } from './testing.js';

const engine = await startDynamodb();

if ('missing' in engine) {
  describe('the dynamodb store', () => {
    it.skip(`not run: ${engine.missing}`, () => {});
  });
} else {
  const options = parseDynamodbUrl(engine.url);
  const migrator = await openDynamodbMigrator(options);
  await migrator.up();
  await migrator.close();
  afterAll(() => engine.stop());

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
}
