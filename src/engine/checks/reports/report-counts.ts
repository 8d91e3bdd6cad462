import type { ReportCounts } from '../../../core/engine/check-verdict.js';

/** Reads a report's text. Throws an error whose message is for a person if the text is not of the format. */
export type ReportParser = (text: string) => ReportCounts;

export const testCounts = (passed: number, failed: number, skipped: number): ReportCounts => ({
  passed,
  failed,
  skipped,
  coverage_percent: null,
});

/** Rounded down: 79.999 % is not 80 %. */
export function coverageCounts(covered: number, total: number): ReportCounts {
  if (!(total > 0)) throw new Error('it counts no lines');
  if (!(covered >= 0 && covered <= total)) throw new Error(`it counts ${covered} of ${total} lines`);
  return { passed: 0, failed: 0, skipped: 0, coverage_percent: Math.floor((covered / total) * 10_000) / 100 };
}
