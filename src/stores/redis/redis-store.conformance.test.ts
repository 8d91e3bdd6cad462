import { afterAll, describe, it } from 'vitest';
import { describeStoreConformance } from '../conformance.js';
import { parseRedisUrl } from './configuration.js';
import { openRedisMigrator, openRedisStore } from './redis-store.js';
import { startRedis } from './testing.js';

const engine = await startRedis();

if ('missing' in engine) {
  describe('the redis store', () => {
    it.skip(`not run: ${engine.missing}`, () => {});
  });
} else {
  const options = parseRedisUrl(engine.url);
  const migrator = await openRedisMigrator(options);
  await migrator.up();
  await migrator.close();
  afterAll(() => engine.stop());

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
}
