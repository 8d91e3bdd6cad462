import { mergeConfig } from 'vitest/config';
import base from './vitest.config.js';

/**
 * What takes longer than a commit should wait for: `npm run test:long`, or `PART=2/8 npm run test:long` for a part of
 * its seeds. A path narrows: `npm run test:long -- sim`.
 */
const config = mergeConfig(base, {
  test: { maxWorkers: 1, env: { ROUNDS: process.env.ROUNDS ?? '200' } },
});
// Merging would add to these lists.
config.test.include = [
  '**/*.long.test.ts',
  'src/stores/file/processes.test.ts',
  'src/workspace/inbox/processes.test.ts',
];
config.test.exclude = ['**/node_modules/**', '.bench/**'];
export default config;
