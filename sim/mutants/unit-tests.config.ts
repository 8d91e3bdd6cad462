import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { ROOT } from './bundle.js';
import type { TestRun } from './by-tests.js';
import { mutate } from './mutant.js';

/** Runs unit tests on code with one fault. No file is modified. */
const { mutant, tests } = JSON.parse(process.env.GENESIS_MUTANT ?? '') as TestRun;

class TestOrderSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const fileRank = ({ moduleId }: TestSpecification): number =>
      tests.findIndex((test) => moduleId === join(ROOT, test));
    return files.sort((a, b) => fileRank(a) - fileRank(b));
  }
}

export default defineConfig({
  root: ROOT,
  plugins: [
    {
      name: 'mutant',
      enforce: 'pre',
      transform: (code, id) =>
        mutant !== null && id === join(ROOT, mutant.file) ? mutate(code, mutant) : undefined,
    },
  ],
  test: {
    testTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 1,
    isolate: false,
    sequence: { sequencer: TestOrderSequencer },
  },
});
