import { describeHistory } from '../../sim/history/describe-history.js';
import { onEngine } from '../../src/stores/testing/on-engine.js';
import { ENGINES, type EngineName, engine, migrate } from '../support/engines.js';

for (const name of Object.keys(ENGINES) as EngineName[]) {
  // Each run ends the engine in the middle, so it has one of its own.
  await onEngine(
    name,
    () => engine(name),
    () =>
      describeHistory(name, async () => {
        const own = await ENGINES[name]();
        if (!('missing' in own)) await migrate(own.url);
        return own;
      }),
  );
}
