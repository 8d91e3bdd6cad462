import { it } from 'vitest';
import { expectSameAsMemory } from '../testing/differential.js';
import { onSharedDatabase } from '../testing/shared-database.js';
import { openRedisStore } from './redis-store.js';
import { optionsWithLongTimeouts } from './testing.js';

await onSharedDatabase('redis', ({ url }) => {
  it('the redis store reaches the same outcomes and state as the memory store', async () => {
    const redis = await openRedisStore(optionsWithLongTimeouts(url));
    await expectSameAsMemory(redis);
    await redis.close();
  });
});
