import { afterAll } from 'vitest';
import { describeHistory } from '../../sim/history/describe-history.js';
import { onDatabase } from '../../src/stores/testing/on-database.js';
import { DATABASE_NAMES, startMigrated } from '../../src/stores/testing/shared-database.js';

for (const name of DATABASE_NAMES) {
  // A run restarts its database in the middle, so it cannot share the one that other tests use.
  await onDatabase(
    name,
    () => startMigrated(name),
    (database) => {
      afterAll(() => database.stop());
      for (const proxies of [false, true]) describeHistory(name, database, { proxies });
    },
  );
}
