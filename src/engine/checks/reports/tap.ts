import { Parser, type Result } from 'tap-parser';
import { type ReportParser, testCounts } from './report-counts.js';

type Counts = { passed: number; failed: number; skipped: number };

/** TAP: counts test points without subtests. A plan that does not match, or a bail-out, is a failure. */
export const parseTap: ReportParser = (text) => {
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  const parser = new Parser();
  count(parser, counts);
  parser.end(text);
  if (parser.count === 0 && (parser.syntheticPlan || parser.planEnd === -1))
    throw new Error('it has no plan and no test');
  if (!parser.ok && counts.failed === 0) counts.failed = 1;
  return testCounts(counts.passed, counts.failed, counts.skipped);
};

function count(parser: Parser, counts: Counts): void {
  let hasSubtests = false;
  parser.on('child', (child: Parser) => {
    hasSubtests = true;
    count(child, counts);
  });
  parser.on('assert', (result: Result) => {
    if (!hasSubtests) counts[stateOf(result)] += 1;
    hasSubtests = false;
  });
}

function stateOf({ ok, skip, todo }: Result): keyof Counts {
  if (skip || todo) return 'skipped';
  return ok ? 'passed' : 'failed';
}
