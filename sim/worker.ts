import { runSeed } from './run-seed.js';
import type { SeedRunOptions } from './scenario/scenario.js';

/** A worker process for simulations: receives one run at a time and sends back its result. */
process.on('message', (options: SeedRunOptions) => {
  runSeed(options).then(
    (result) => process.send?.({ result }),
    (error) => process.send?.({ error: error instanceof Error ? error.stack : String(error) }),
  );
});
