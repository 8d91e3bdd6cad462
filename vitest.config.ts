import { defineConfig } from 'vitest/config';
import { SlowestFirst } from './test/support/slowest-first.js';

export default defineConfig({
  test: {
    include: [
      'src/**/*.test.ts',
      'dashboard/src/**/*.test.ts',
      'sim/**/*.test.ts',
      'test/**/*.test.ts',
      'scripts/**/*.test.ts',
    ],
    exclude: ['**/node_modules/**', '**/*.long.test.ts'],
    pool: 'forks',
    // All files of a worker share their modules: loading them again for each file took half the time of a run.
    isolate: false,
    // One more than the cores of a small machine: many tests wait for disks and for processes of their own.
    maxWorkers: 3,
    sequence: { sequencer: SlowestFirst },
    // Ends a test that hangs. It is not a measure of speed: on a busy machine everything takes many times as long.
    testTimeout: 15 * 60_000,
    hookTimeout: 15 * 60_000,
    globalSetup: './test/support/built.ts',
    setupFiles: './test/support/built-processes.ts',
    reporters: ['default', './test/support/closing-line.ts'],
  },
});
