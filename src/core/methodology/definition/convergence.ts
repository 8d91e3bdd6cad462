import type { EffectiveCheck } from '../../contract/checks.js';
import type { CHECK_RESULTS } from '../../contract/values.js';

export interface ReportedCheck {
  readonly name: string;
  readonly type?: string;
  readonly result: (typeof CHECK_RESULTS)[number];
}

/** Check reports with their counts, in the form of a submission. */
export function withResultCounts<Report extends Pick<ReportedCheck, 'result'>>(details: readonly Report[]) {
  const countResults = (...results: readonly string[]): number =>
    details.filter((report) => results.includes(report?.result)).length;
  const counts = {
    passed: countResults('pass'),
    failed: countResults('fail', 'error'),
    skipped: countResults('skip'),
  };
  return { ...counts, total: details.length, details: [...details] };
}

export interface ConvergenceVerdict {
  /** The number of entries in `failing`. */
  readonly delta: number;
  /**
   * The required checks that have not passed, with the reason; a human check only if it was skipped, or reported as failed or
   * under another type. If there is none, but no check has passed or waits for a review either, the only entry is `checks`.
   */
  readonly failing: readonly { readonly name: string; readonly says: string }[];
  /** Required human checks that no report has failed. Only a review can pass them, never a report. */
  readonly human_checks: readonly string[];
}

const RESULT_TEXTS: Readonly<Record<ReportedCheck['result'], string>> = {
  pass: 'passed',
  fail: 'failed',
  skip: 'was skipped, which does not count as passed',
  error: 'did not run to completion',
  pending: 'is still pending',
};

/**
 * Determines from check reports which required checks keep a result from converging. A check without a reported pass
 * has not passed.
 */
export function judgeConvergence(
  checks: readonly EffectiveCheck[],
  reported: readonly ReportedCheck[],
): ConvergenceVerdict {
  const byName = new Map<string, ReportedCheck[]>();
  for (const report of reported) byName.set(report.name, [...(byName.get(report.name) ?? []), report]);
  const failing: { name: string; says: string }[] = [];
  const humanChecks: string[] = [];
  let passed = 0;
  for (const check of checks) {
    const says = notPassedText(check, byName.get(check.name) ?? []);
    if (says === null && check.type !== 'human') passed += 1;
    if (!check.required) continue;
    if (says !== null) failing.push({ name: check.name, says });
    else if (check.type === 'human') humanChecks.push(check.name);
  }
  if (failing.length === 0 && humanChecks.length === 0 && passed === 0) {
    const message = checks.length === 0 ? 'The edge has no check.' : 'No check of the edge has passed.';
    failing.push({ name: 'checks', says: `${message} An edge needs at least one passed check.` });
  }
  return { delta: failing.length, failing, human_checks: humanChecks };
}

/** Why a check has not passed; null if it has, or if it is a human check without a reported failure. */
function notPassedText(check: EffectiveCheck, reports: readonly ReportedCheck[]): string | null {
  if (check.skipped !== null) return `It was skipped, which does not count as passed: ${check.skipped}`;
  const mistyped = reports.find(({ type }) => type !== undefined && type !== check.type);
  if (mistyped !== undefined) return `It is ${check.type} but was reported as ${mistyped.type}.`;
  if (check.type === 'human') return reports.some(({ result }) => result === 'fail') ? 'It failed.' : null;
  if (reports.length === 0) return 'It was not reported.';
  const notPassed = reports.find(({ result }) => result !== 'pass');
  return notPassed === undefined ? null : `It ${RESULT_TEXTS[notPassed.result]}.`;
}
