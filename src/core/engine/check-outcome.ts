import { z } from 'zod';
import type { EffectiveCheck } from '../contract/checks.js';
import { CHECK_RESULTS, CHECK_TYPES } from '../contract/values.js';
import { REPORT_FORMATS } from '../methodology/definition/engine-settings.js';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.int().min(0);
/** The limit keeps sums of amounts finite and exact enough. */
const amount = z.number().min(0).max(1e9);

/** Tokens, money and time that a step has used. `usd` is null if it is unknown. */
export const costSchema = z.strictObject({
  input_tokens: count,
  output_tokens: count,
  usd: amount.nullable(),
  seconds: amount,
});
export type Cost = z.output<typeof costSchema>;

export const NO_COST: Cost = { input_tokens: 0, output_tokens: 0, usd: 0, seconds: 0 };

/** The sum; unknown money makes the sum unknown. */
export const addCost = (a: Cost, b: Cost): Cost => ({
  input_tokens: a.input_tokens + b.input_tokens,
  output_tokens: a.output_tokens + b.output_tokens,
  usd: a.usd === null || b.usd === null ? null : a.usd + b.usd,
  seconds: a.seconds + b.seconds,
});

const reportSummary = z.strictObject({
  format: z.enum(REPORT_FORMATS),
  sha256,
  passed: count,
  failed: count,
  skipped: count,
  coverage_percent: z.number().min(0).max(100).nullable(),
});

/** The outcome of one check of a candidate, decided by a program, a model or a person. */
export const checkOutcomeSchema = z.strictObject({
  name: z.string().min(1).max(256),
  type: z.enum(CHECK_TYPES),
  required: z.boolean(),
  result: z.enum(CHECK_RESULTS),
  says: z.string().max(2000),
  /** The digest of the command that was run; null if none was run. With another command it is a different check. */
  command_sha256: sha256.nullable(),
  /**
   * The digest of all that decides whether the check passes: command, report and timeout. Absent from records of older
   * versions.
   */
  check_sha256: sha256.exactOptional(),
  exit_code: z.int().nullable(),
  signal: z.string().max(32).nullable(),
  duration_ms: count,
  report: reportSummary.nullable(),
  /** The end of the output of the command, as a blob. */
  output_sha256: sha256.nullable(),
  /** For a check by a model: its issues per criterion. */
  issues: z
    .array(
      z.strictObject({
        criterion: z.string().max(1000),
        score: z.number().min(0).max(1),
        says: z.string().max(2000),
      }),
    )
    .max(100)
    .exactOptional(),
  cost: costSchema.exactOptional(),
  /** The runner did not run the check, because the candidate was built on files that differ from the runner's base. */
  is_base_fault: z.literal(true).exactOptional(),
});
export type CheckOutcome = z.output<typeof checkOutcomeSchema>;

/** The outcome of a check for which no command was run. */
export const outcomeWithoutCommand = (
  { name, type, required }: EffectiveCheck,
  { result, says }: Pick<CheckOutcome, 'result' | 'says'>,
): CheckOutcome => ({
  ...{ name, type, required, result, says },
  ...{ command_sha256: null, exit_code: null, signal: null, duration_ms: 0 },
  ...{ report: null, output_sha256: null },
});

/** Whether the outcome prevents the next tier: a required check has not passed. */
export const isBlocking = ({ required, result }: Pick<CheckOutcome, 'required' | 'result'>): boolean =>
  required && result !== 'pass';

/**
 * Why required checks were not run: the candidate was built on other files than the runner's base has. Another candidate
 * would not help. Null if no required check was left out for this reason.
 */
export const baseFaultOf = (
  outcomes: readonly Pick<CheckOutcome, 'required' | 'result' | 'says' | 'is_base_fault'>[],
): string | null =>
  outcomes.find((outcome) => isBlocking(outcome) && outcome.is_base_fault === true)?.says ?? null;
