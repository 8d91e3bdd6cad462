import { z } from 'zod';
import type { ReportCounts } from '../../../core/engine/check-verdict.js';
import type { REPORT_FORMATS } from '../../../core/methodology/definition/engine-settings.js';
import { REPORT_BYTES_MAX } from '../run-command.js';
import { parseCobertura } from './cobertura.js';
import { parseJest, parsePytest } from './json.js';
import { parseCargo, parseGo } from './json-lines.js';
import { parseJunit } from './junit.js';
import { parseLcov } from './lcov.js';
import type { ReportParser } from './report-counts.js';
import { parseTap } from './tap.js';

export type ReportFormat = (typeof REPORT_FORMATS)[number];

const PARSERS: Readonly<Record<ReportFormat, ReportParser>> = {
  junit: parseJunit,
  tap: parseTap,
  pytest: parsePytest,
  vitest: parseJest,
  jest: parseJest,
  go: parseGo,
  cargo: parseCargo,
  lcov: parseLcov,
  cobertura: parseCobertura,
};

export const isCoverageFormat = (format: ReportFormat): boolean =>
  format === 'lcov' || format === 'cobertura';

/** The counts of a report, or why it cannot be used. */
export type ParsedReport = ReportCounts | { readonly says: string };

/** May take long for a malicious report: use `readReport`, which parses in a thread with a time limit. */
export function parseReport(format: ReportFormat, bytes: Uint8Array): ParsedReport {
  if (bytes.length > REPORT_BYTES_MAX)
    return { says: `The report exceeds the limit of ${REPORT_BYTES_MAX} bytes.` };
  try {
    return PARSERS[format](new TextDecoder('utf-8').decode(bytes));
  } catch (error) {
    return { says: `The report is not of the format ${format}: ${faultOf(error)}.` };
  }
}

function faultOf(error: unknown): string {
  if (error instanceof z.ZodError) {
    const [issue] = error.issues;
    return `${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`.slice(0, 200);
  }
  return (error instanceof Error ? error.message : String(error)).slice(0, 200);
}
