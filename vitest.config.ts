import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'sim/**/*.test.ts', 'test/**/*.test.ts'],
    pool: 'forks',
    // Modules are loaded once for all files of a fork: half the time of a run was loading them again.
    poolOptions: { forks: { maxForks: 2, isolate: false } },
    testTimeout: 60_000,
    reporters: ['default', './test/support/closing-line.ts'],
  },
});
