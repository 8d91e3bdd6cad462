import { afterAll } from 'vitest';
import { describeHistory } from '../../sim/history/describe-history.js';
import { onEngine } from '../../src/stores/testing/on-engine.js';
import { ENGINE_NAMES, startMigrated } from '../../src/stores/testing/shared-engine.js';

for (const name of ENGINE_NAMES) {
  // A run ends the engine in the middle, so it is not the one that others use.
  await onEngine(
    name,
    () => startMigrated(name),
    (engine) => {
      afterAll(() => engine.stop());
      describeHistory(name, engine);
    },
  );
}
