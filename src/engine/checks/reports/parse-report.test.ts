import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { REPORT_BYTES_MAX } from '../run-command.js';
import { parseReport, type ReportFormat } from './parse-report.js';

const readFixture = (name: string) => readFileSync(new URL(`./testing/${name}`, import.meta.url));
const parse = (format: ReportFormat, text: string) => parseReport(format, Buffer.from(text));
const testResult = (passed: number, failed: number, skipped: number) => ({
  ...{ passed, failed, skipped },
  coverage_percent: null,
});
const coverageResult = (coverage_percent: number) => ({ passed: 0, failed: 0, skipped: 0, coverage_percent });

it.each([
  ['junit', 'pytest.xml', testResult(1, 2, 2)],
  ['junit', 'node.xml', testResult(1, 1, 2)],
  ['junit', 'vitest.xml', testResult(1, 1, 2)],
  ['tap', 'node.tap', testResult(1, 1, 2)],
  ['pytest', 'pytest-json-report.json', testResult(1, 2, 2)],
  ['vitest', 'vitest.json', testResult(1, 1, 2)],
  ['jest', 'jest.json', testResult(1, 1, 2)],
  ['jest', 'jest-broken.json', testResult(0, 1, 0)],
  ['junit', 'jest-junit.xml', testResult(2, 1, 1)],
  ['tap', 'vitest.tap', testResult(1, 1, 2)],
  ['go', 'go.jsonl', testResult(3, 4, 1)],
  ['go', 'go-build-fail.jsonl', testResult(0, 1, 0)],
  ['cargo', 'cargo.jsonl', testResult(3, 1, 1)],
  ['lcov', 'node.lcov', coverageResult(85.71)],
  ['cobertura', 'coverage-py.xml', coverageResult(71.42)],
] satisfies [ReportFormat, string, object][])('reads %s from %s', (format, name, counts) => {
  expect(parseReport(format, readFixture(name))).toEqual(counts);
});

it.each(['junit', 'tap', 'pytest', 'vitest', 'jest', 'go', 'cargo', 'lcov', 'cobertura'] as const)(
  'refuses garbage, an empty file and half a file as a report of the format %s',
  (format) => {
    for (const text of [
      '',
      'hello\n',
      '{}',
      '<a/>',
      '<testsuites><testsuite>',
      '{"summary":',
      '[]',
      '{"type":1}',
    ])
      expect(parse(format, text)).toEqual({ says: expect.stringContaining(format) });
  },
);

it('refuses a report that is too large before it is parsed', () => {
  expect(parseReport('junit', new Uint8Array(REPORT_BYTES_MAX + 1))).toEqual({
    says: expect.stringContaining('exceeds the limit'),
  });
});

it('refuses XML with entity declarations or deep nesting', () => {
  const bomb =
    '<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><testsuites><testcase name="&b;"/></testsuites>';
  expect(parse('junit', bomb)).toHaveProperty('says');
  expect(parse('junit', `${'<testsuite>'.repeat(5000)}${'</testsuite>'.repeat(5000)}`)).toHaveProperty(
    'says',
  );
});

it('counts a test file that cannot be loaded as a failure', () => {
  const report = { success: false, numPassedTests: 3, numFailedTests: 0 };
  expect(parse('vitest', JSON.stringify({ ...report, numFailedTestSuites: 2 }))).toEqual(testResult(3, 2, 0));
  expect(parse('vitest', JSON.stringify(report))).toEqual(testResult(3, 1, 0));
});

it.each([
  ['a plan that does not match', '1..3\nok 1\nok 2\n', testResult(2, 1, 0)],
  ['a bail-out', '1..2\nok 1\nBail out! no database\n', testResult(1, 1, 0)],
  ['a suite without a failure', '1..1\nok 1 - a\n', testResult(1, 0, 0)],
])('reads %s in TAP', (_, text, counts) => {
  expect(parse('tap', text)).toEqual(counts);
});

it('counts a suite of cargo that did not end as a failure', () => {
  const started = '{"type":"suite","event":"started","test_count":1}\n';
  expect(parse('cargo', started)).toEqual(testResult(0, 1, 0));
});

it('counts each line of LCOV once per file, and rounds the percentage down', () => {
  const record = (lines: string) => `SF:a.js\n${lines}\nLF:1\nLH:1\nend_of_record\n`;
  expect(parse('lcov', record('DA:1,1\nDA:2,0\nDA:3,0') + record('DA:2,5'))).toEqual(coverageResult(66.66));
});

it.each([
  ['junit', '<!DOCTYPE ', 300_000],
  ['cobertura', '<!DOCTYPE a>', 200_000],
  ['tap', 'ok 1\n  ---\n', 1, '  a: 1\n', 200_000],
] satisfies [ReportFormat, string, number, string?, number?][])(
  'parses a report of the format %s in linear time, even one that is designed to take long',
  { timeout: 30_000 },
  (format, start, startCount, body = '', bodyCount = 0) => {
    const end = body === '' ? '' : '  ...\n1..1\n';
    const parsed = parse(format, `${start.repeat(startCount)}${body.repeat(bodyCount)}${end}`);
    expect(parsed).toEqual(format === 'tap' ? testResult(1, 0, 0) : { says: expect.any(String) });
  },
);

it.each([
  ['diagnostics', 'ok 1\n  ---\n  not ok 2\n  ...\nok 2\n1..2\n', testResult(2, 0, 0)],
  [
    'diagnostics of subtests',
    '    not ok 1\n      ---\n      a: 1\n      ...\n    1..1\nnot ok 1\n  ---\n  b: 1\n  ...\n1..1\n',
    testResult(0, 1, 0),
  ],
  ['diagnostics without an end', 'ok 1\n  ---\n  a: 1\nnot ok 2\n1..2\n', testResult(1, 1, 0)],
  ['lines that only look like diagnostics', '# x\n  ---\nnot ok 1\n1..1\n', testResult(0, 1, 0)],
])('counts only the tests of a TAP report with %s', (_, text, counts) => {
  expect(parse('tap', text)).toEqual(counts);
});
