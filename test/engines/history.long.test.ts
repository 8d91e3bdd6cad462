import { afterAll } from 'vitest';
import { describeHistory } from '../../sim/history/describe-history.js';
import { onEngine } from '../../src/stores/testing/on-engine.js';
import { ENGINE_NAMES, startMigrated } from '../../src/stores/testing/shared-engine.js';

for (const name of ENGINE_NAMES) {
  // A run restarts its database in the middle, so it cannot share the one that other tests use.
  await onEngine(
    name,
    () => startMigrated(name),
    (engine) => {
      afterAll(() => engine.stop());
      for (const proxies of [false, true]) describeHistory(name, engine, { proxies });
    },
  );
}
