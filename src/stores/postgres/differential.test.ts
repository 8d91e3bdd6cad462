import { expect, it } from 'vitest';
import { expectSameAsMemory } from '../testing/differential.js';
import { onSharedDatabase } from '../testing/shared-database.js';
import { openPostgresStore } from './postgres-store.js';
import { SimpleBatch } from './simple-batch.js';
import { optionsWithLongTimeouts } from './testing.js';

await onSharedDatabase('postgres', ({ url }) => {
  it.each([
    ['with simple commits', true],
    ['without simple commits', false],
  ])(
    'the postgres store reaches the same outcomes and state as the memory store %s',
    async (_, usesSimpleCommits) => {
      const postgres = await openPostgresStore(optionsWithLongTimeouts(url), {
        usesSimpleCommits: usesSimpleCommits,
      });
      let simpleCount = 0;
      await expectSameAsMemory(postgres, (transactions) => {
        if (transactions.length > 0 && SimpleBatch.of(transactions) !== null) simpleCount += 1;
      });
      expect(simpleCount).toBeGreaterThan(20);
      await postgres.close();
    },
  );
});
