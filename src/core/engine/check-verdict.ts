import type { CheckOutcome } from './check-outcome.js';

/** How a command ended, and what its report contains. */
export interface CommandFacts {
  readonly exit_code: number | null;
  readonly signal: string | null;
  /** The limit that stopped the command, as a sentence; null if no limit did. */
  readonly stop_reason: string | null;
  /** Why the command did not start; null if it did. */
  readonly start_failure: string | null;
  /** An additional remark for a person, such as a full disk. */
  readonly remark: string | null;
  readonly report: ReportFacts;
}

export type ReportFacts =
  | { readonly kind: 'none' }
  /** The report is missing, too large, or in another format. */
  | { readonly kind: 'unusable'; readonly says: string }
  | { readonly kind: 'read'; readonly counts: ReportCounts; readonly minimum_percent: number | null };

/** The numbers in a report: counts for a report of tests, a percentage for a report of coverage. */
export interface ReportCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly coverage_percent: number | null;
}

type CheckVerdict = Pick<CheckOutcome, 'result' | 'says'>;

/** Exit codes of a shell if a program does not exist or is not executable. */
const PROGRAM_NOT_RUN_EXIT_CODES = [126, 127];

/**
 * The verdict on a check. It passes if its command was not stopped and ended with exit code 0, and its report shows that
 * it passed. A check that does not ask for a report needs none.
 */
export function judgeCommand(facts: CommandFacts): CheckVerdict {
  const { result, says } = verdictOf(facts);
  return { result, says: facts.remark === null ? says : `${says} ${facts.remark}` };
}

const errorVerdict = (says: string): CheckVerdict => ({ result: 'error', says });
const failVerdict = (says: string): CheckVerdict => ({ result: 'fail', says });

function verdictOf({ start_failure, stop_reason, exit_code, signal, report }: CommandFacts): CheckVerdict {
  if (start_failure !== null) return errorVerdict(start_failure);
  if (stop_reason !== null) return failVerdict(stop_reason);
  const endDescription = endText(exit_code, signal);
  if (exit_code !== null && PROGRAM_NOT_RUN_EXIT_CODES.includes(exit_code))
    return errorVerdict(`The program was not found or cannot be run (${endDescription}).`);
  if (report.kind === 'unusable')
    return errorVerdict(`${report.says} The command ended with ${endDescription}.`);
  if (report.kind === 'none')
    return exit_code === 0
      ? { result: 'pass', says: 'Exit code 0.' }
      : failVerdict(`The command ended with ${endDescription}.`);
  const { counts, minimum_percent } = report;
  const countsDescription = countsText(counts);
  if (exit_code !== 0)
    return failVerdict(`The command ended with ${endDescription}; its report: ${countsDescription}.`);
  if (counts.coverage_percent === null) return testVerdict(counts, countsDescription);
  return coverageVerdict(counts.coverage_percent, minimum_percent, countsDescription);
}

function endText(exitCode: number | null, signal: string | null): string {
  if (exitCode === null) return `signal ${signal ?? 'unknown'}`;
  return exitCode > 128 ? `exit code ${exitCode} (signal ${exitCode - 128})` : `exit code ${exitCode}`;
}

function countsText({ passed, failed, skipped, coverage_percent }: ReportCounts): string {
  if (coverage_percent !== null) return `coverage ${coverage_percent} %`;
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

function testVerdict({ passed, failed }: ReportCounts, countsDescription: string): CheckVerdict {
  if (failed > 0) return failVerdict(`The report says: ${countsDescription}.`);
  if (passed === 0) return failVerdict(`No test was run (${countsDescription}).`);
  return { result: 'pass', says: `${countsDescription}.` };
}

function coverageVerdict(percent: number, minimum: number | null, countsDescription: string): CheckVerdict {
  if (minimum !== null && percent < minimum)
    return failVerdict(`${countsDescription}; the minimum is ${minimum} %.`);
  return {
    result: 'pass',
    says: minimum === null ? `${countsDescription}.` : `${countsDescription}; the minimum is ${minimum} %.`,
  };
}
