import type { Reporter, TestModule } from 'vitest/node';

/** Ends the run with one plain line that any machine can read: `1420 passed, 0 failed`. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const counts = { passed: 0, failed: errors.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      if (module.state() === 'failed' && [...module.children.allTests()].length === 0) counts.failed += 1;
      for (const test of module.children.allTests()) counts[test.result().state] += 1;
    }
    const skipped = counts.skipped + counts.pending;
    const rest = skipped === 0 ? '' : `, ${skipped} skipped`;
    process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed${rest}\n`);
  }
}
