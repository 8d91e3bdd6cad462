import type { Reporter, TestModule } from 'vitest/node';
import { NOT_RUN } from '../../src/stores/testing/not-run.js';

/**
 * Ends a run with plain lines that any program can parse: what could not run here and why, then the count.
 *
 *     not run: redis: redis-server is not installed (npm run engines:install)
 *     1420 passed, 0 failed, 12 skipped
 */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const counts = { passed: 0, failed: errors.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      if (module.state() === 'failed' && [...module.children.allTests()].length === 0) counts.failed += 1;
      for (const test of module.children.allTests()) counts[test.result().state] += 1;
    }
    const skipped = counts.skipped + counts.pending;
    const skippedText = skipped === 0 ? '' : `, ${skipped} skipped`;
    const lines = [...reasons(modules), `${counts.passed} passed, ${counts.failed} failed${skippedText}`];
    process.stdout.write(`\n${lines.join('\n')}\n`);
  }
}

/** One line per group and reason, over all files; a test that is skipped without a reason shows its title. */
function reasons(modules: readonly TestModule[]): string[] {
  const lines = new Set<string>();
  for (const module of modules) {
    for (const test of module.children.allTests()) {
      if (!['skipped', 'pending'].includes(test.result().state)) continue;
      const group = test.parent.type === 'suite' ? test.parent.name : '';
      lines.add(group.startsWith(NOT_RUN) ? `${group}: ${test.name}` : `${NOT_RUN}${test.fullName}`);
    }
  }
  return [...lines].sort();
}
