import { it } from 'vitest';
import { expectSameAsMemory } from '../testing/differential.js';
import { describeOnDynamodb } from './testing/harness.js';

await describeOnDynamodb('the dynamodb store', ({ store: open }) => {
  it('reaches the same outcomes and state as the memory store', async () => {
    await expectSameAsMemory(await open());
  });
});
