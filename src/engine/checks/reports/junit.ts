import { type ReportParser, testCounts } from './report-counts.js';
import { childrenOf, parseXml, type XmlNode } from './xml.js';

/** JUnit XML: counts elements, because tools disagree about what the attributes count. */
export const parseJunit: ReportParser = (text) => {
  const root = parseXml(text);
  const suites = [...childrenOf(root, 'testsuites'), ...childrenOf(root, 'testsuite')];
  if (suites.length === 0) throw new Error('the element `<testsuites>` or `<testsuite>` is missing');
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (let suite = suites.pop(); suite !== undefined; suite = suites.pop()) {
    suites.push(...childrenOf(suite, 'testsuite'));
    // An error outside a test case: the suite could not be set up.
    counts.failed += childrenOf(suite, 'error').length;
    for (const testCase of childrenOf(suite, 'testcase')) counts[stateOf(testCase)] += 1;
  }
  return testCounts(counts.passed, counts.failed, counts.skipped);
};

/** An expected failure (xfail) may have both `skipped` and `failure`; it counts as skipped. */
function stateOf(testCase: XmlNode): 'passed' | 'failed' | 'skipped' {
  if ('skipped' in testCase) return 'skipped';
  return 'failure' in testCase || 'error' in testCase ? 'failed' : 'passed';
}
