import { Parser, type Result } from 'tap-parser';
import { type ReportParser, testCounts } from './report-counts.js';

type Counts = { passed: number; failed: number; skipped: number };

/** TAP: counts test points without subtests. A plan that does not match, or a bail-out, is a failure. */
export const parseTap: ReportParser = (text) => {
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  const parser = new Parser();
  addTestPointListeners(parser, counts);
  for (const line of linesOf(text)) parser.write(line);
  parser.end();
  if (parser.count === 0 && (parser.syntheticPlan || parser.planEnd === -1))
    throw new Error('it has no plan and no test');
  if (!parser.ok && counts.failed === 0) counts.failed = 1;
  return testCounts(counts.passed, counts.failed, counts.skipped);
};

const TEST_POINT = /^( *)(?:not )?ok\b/;

/**
 * Yields the lines without the YAML diagnostics below test points. Diagnostics contain no tests, and parsing them takes
 * time that is quadratic in their length.
 */
function* linesOf(text: string): Generator<string> {
  /** The indent of the block of diagnostics that is open. */
  let blockIndent: string | null = null;
  /** The indent of a block that starts on the next line; null if it cannot start there: it must follow a test point. */
  let nextBlockIndent: string | null = null;
  for (const line of text.split('\n')) {
    if (blockIndent !== null && line.startsWith(blockIndent)) {
      if (line.trimEnd() === `${blockIndent}...`) blockIndent = null;
      continue;
    }
    blockIndent =
      nextBlockIndent !== null && line.trimEnd() === `${nextBlockIndent}---` ? nextBlockIndent : null;
    if (blockIndent !== null) continue;
    const point = TEST_POINT.exec(line);
    nextBlockIndent = point === null ? null : `${point[1]}  `;
    yield `${line}\n`;
  }
}

function addTestPointListeners(parser: Parser, counts: Counts): void {
  let hasSubtests = false;
  parser.on('child', (child: Parser) => {
    hasSubtests = true;
    addTestPointListeners(child, counts);
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
