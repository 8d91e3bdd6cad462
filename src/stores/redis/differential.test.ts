import { it } from 'vitest';
import { expectSameAsMemory } from '../testing/differential.js';
import { onSharedEngine } from '../testing/shared-engine.js';
import { openRedisStore } from './redis-store.js';
import { optionsWithLongTimeouts } from './testing.js';

await onSharedEngine('redis', ({ url }) => {
  it('the redis store reaches the same outcomes and state as the memory store', async () => {
    const redis = await openRedisStore(optionsWithLongTimeouts(url));
    await expectSameAsMemory(redis);
    await redis.close();
  });
});
