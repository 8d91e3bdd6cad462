import { defineConfig } from 'vitest/config';
import { SimulatorFirst } from './test/support/simulator-first.js';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'sim/**/*.test.ts', 'test/**/*.test.ts'],
    pool: 'forks',
    // Modules are loaded once for all files of a fork: half the time of a run was loading them again.
    // One of the three only waits for the processes of the simulator. All stay to the end: a pool that lets one of
    // several idle forks go does so twice, and the second time ends the run (tinypool 1.1).
    poolOptions: { forks: { minForks: 3, maxForks: 3, isolate: false } },
    sequence: { sequencer: SimulatorFirst },
    testTimeout: 60_000,
    globalSetup: './test/support/built.ts',
    reporters: ['default', './test/support/closing-line.ts'],
  },
});
