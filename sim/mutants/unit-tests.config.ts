import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { ROOT } from './bundle.js';
import { mutate } from './mutant.js';
import { MUTANTS } from './mutants.js';

/** Runs unit tests on code with one fault, the one named by `GENESIS_MUTANT`. No file is modified. */
const mutant = MUTANTS.find(({ name }) => name === process.env.GENESIS_MUTANT);

export default defineConfig({
  root: ROOT,
  plugins: [
    {
      name: 'mutant',
      enforce: 'pre',
      transform: (code, id) =>
        mutant !== undefined && id === join(ROOT, mutant.file) ? mutate(code, mutant) : undefined,
    },
  ],
  test: {
    testTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 1,
    isolate: false,
  },
});
