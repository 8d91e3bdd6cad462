import { z } from 'zod';
import { type ReportParser, testCounts } from './report-counts.js';

const count = z.int().min(0).default(0);
const pytestReport = z.object({
  summary: z.object({
    total: z.int().min(0),
    ...{ passed: count, failed: count, error: count, skipped: count, xfailed: count, xpassed: count },
  }),
});
const jestReport = z.object({
  success: z.boolean(),
  numPassedTests: z.int().min(0),
  numFailedTests: z.int().min(0),
  ...{ numPendingTests: count, numTodoTests: count, numFailedTestSuites: count },
});

/** The plugin pytest-json-report. */
export const parsePytest: ReportParser = (text) => {
  const { summary } = pytestReport.parse(JSON.parse(text));
  const { passed, xpassed, failed, error, skipped, xfailed } = summary;
  return testCounts(passed + xpassed, failed + error, skipped + xfailed);
};

/** jest --json, and vitest --reporter=json. A file that cannot be loaded has no tests, but is not successful. */
export const parseJest: ReportParser = (text) => {
  const report = jestReport.parse(JSON.parse(text));
  const failed = report.numFailedTests || report.numFailedTestSuites || (report.success ? 0 : 1);
  return testCounts(report.numPassedTests, failed, report.numPendingTests + report.numTodoTests);
};
