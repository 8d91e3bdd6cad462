import { mergeConfig } from 'vitest/config';
import base from './vitest.config.js';

/**
 * The tests that take longer than a commit should wait for: `npm run test:long`, or `PART=2/8 npm run test:long` for a part
 * of their seeds. A path selects tests: `npm run test:long -- sim`.
 */
const config = mergeConfig(base, {
  test: { maxWorkers: 1, env: { ROUNDS: process.env.ROUNDS ?? '200' } },
});
// Set after the merge, because `mergeConfig` would add these entries to the lists of the base configuration.
config.test.include = [
  '**/*.long.test.ts',
  'src/stores/file/processes.test.ts',
  'src/workspace/inbox/processes.test.ts',
];
config.test.exclude = ['**/node_modules/**', '.bench/**'];
export default config;
