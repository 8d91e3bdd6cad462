import { expect, it } from 'vitest';
import { type CommandFacts, judgeCommand, type ReportFacts } from './check-verdict.js';

const verdictOn = (facts: Partial<CommandFacts>) =>
  judgeCommand({
    exit_code: 0,
    signal: null,
    stop_reason: null,
    start_failure: null,
    remark: null,
    report: { kind: 'none' },
    ...facts,
  });
const testReport = (passed: number, failed: number, skipped = 0): ReportFacts => ({
  kind: 'read',
  counts: { passed, failed, skipped, coverage_percent: null },
  minimum_percent: null,
});
const coverageReport = (coverage_percent: number, minimum_percent: number | null): ReportFacts => ({
  kind: 'read',
  counts: { passed: 0, failed: 0, skipped: 0, coverage_percent },
  minimum_percent,
});

it.each([
  ['exit code 0 without a report', {}, 'pass'],
  ['exit code 1', { exit_code: 1 }, 'fail'],
  ['a signal', { exit_code: null, signal: 'SIGSEGV' }, 'fail'],
  ['a program that does not exist', { exit_code: 127 }, 'error'],
  ['a limit that was reached', { stop_reason: 'Too slow.' }, 'fail'],
  ['a sandbox that did not start', { start_failure: 'No space.' }, 'error'],
  ['a report with passed tests', { report: testReport(2, 0, 1) }, 'pass'],
  ['a report with a failed test and exit code 0', { report: testReport(2, 1) }, 'fail'],
  ['a report with passed tests and exit code 1', { exit_code: 1, report: testReport(2, 0) }, 'fail'],
  ['a report without a test', { report: testReport(0, 0) }, 'fail'],
  ['a report with skipped tests only', { report: testReport(0, 0, 3) }, 'fail'],
  ['coverage at the minimum', { report: coverageReport(80, 80) }, 'pass'],
  ['coverage below the minimum', { report: coverageReport(79.99, 80) }, 'fail'],
  ['coverage without a minimum', { report: coverageReport(1, null) }, 'pass'],
  ['a missing report', { report: { kind: 'unusable', says: 'No report.' } }, 'error'],
  ['a missing report and exit code 1', { exit_code: 1, report: { kind: 'unusable', says: 'x' } }, 'error'],
] satisfies [string, Partial<CommandFacts>, string][])('judges %s', (_, facts, result) => {
  expect(verdictOn(facts).result).toBe(result);
});

it('states the deciding fact and the remark in the text of a verdict', () => {
  expect(verdictOn({ exit_code: 139, remark: 'The disk is full.' }).says).toBe(
    'The command ended with exit code 139 (signal 11). The disk is full.',
  );
  expect(verdictOn({ report: coverageReport(79.5, 80) }).says).toBe('coverage 79.5 %; the minimum is 80 %.');
});
