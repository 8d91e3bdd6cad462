import { it } from 'vitest';
import { expectSameAsMemory } from '../testing/differential.js';
import { onSharedDatabase } from '../testing/shared-database.js';
import { MysqlCommitter } from './commit.js';
import { openPool } from './connection.js';
import { MysqlStore, openMysqlStore } from './mysql-store.js';
import type { MysqlOptions } from './options.js';
import { runPreflight } from './preflight.js';
import { optionsWithLongTimeouts } from './testing.js';

await onSharedDatabase('mysql', ({ url }) => {
  it.each([
    ['in the common case', openMysqlStore],
    ['in the general case', openGeneralStore],
  ])('the mysql store reaches the same outcomes and state as the memory store: %s', async (_, open) => {
    const mysql = await open(optionsWithLongTimeouts(url));
    await expectSameAsMemory(mysql);
    await mysql.close();
  });
});

/** A store that decides every batch in the general way. */
async function openGeneralStore(options: MysqlOptions): Promise<MysqlStore> {
  class GeneralCommitter extends MysqlCommitter {
    protected override async sendCommon(): Promise<null> {
      return null;
    }
  }
  const pool = await openPool(options);
  return new MysqlStore(pool, options, new GeneralCommitter(pool, options, await runPreflight(pool)));
}
