import { runSeed } from './run-seed.js';
import type { SeedRunOptions } from './scenario/scenario.js';

/** A process of its own for simulations: it is sent runs one at a time, and sends back what they came to. */
process.on('message', (options: SeedRunOptions) => {
  runSeed(options).then(
    (result) => process.send?.({ result }),
    (error) => process.send?.({ error: error instanceof Error ? error.stack : String(error) }),
  );
});
