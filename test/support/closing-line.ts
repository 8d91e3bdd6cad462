import type { Reporter, TestModule } from 'vitest/node';
import { NOT_RUN } from '../../src/stores/testing/not-run.js';

/**
 * Ends the run with plain lines that any machine can read: `1420 passed, 0 failed`, and before it the engines that
 * could not be had: `not run: redis; npm run engines:install`.
 */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const counts = { passed: 0, failed: errors.length, skipped: 0, pending: 0 };
    const missing = new Set<string>();
    for (const module of modules) {
      if (module.state() === 'failed' && [...module.children.allTests()].length === 0) counts.failed += 1;
      for (const test of module.children.allTests()) counts[test.result().state] += 1;
      for (const { name } of module.children.allSuites()) {
        if (name.startsWith(NOT_RUN)) missing.add(name.slice(NOT_RUN.length));
      }
    }
    if (missing.size > 0) {
      process.stdout.write(`\n${NOT_RUN}${[...missing].sort().join(', ')}; npm run engines:install\n`);
    }
    const skipped = counts.skipped + counts.pending;
    const rest = skipped === 0 ? '' : `, ${skipped} skipped`;
    process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed${rest}\n`);
  }
}
