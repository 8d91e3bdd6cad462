import { z } from 'zod';
import { checkExecutionFields } from '../methodology/definition/engine-settings.js';
import { boundedText, count, type ReplyOf, withinBytes, withName } from './schema.js';
import { CHECK_RESULTS, CHECK_TYPES, EVIDENCE_POLICIES } from './values.js';

/** The checks of an edge: how they are reported, and how they are shown. */

const REPORTS_BYTES_MAX = 64 * 1024;

const checkCount = z.number().int().min(0).max(100_000);
/**
 * Reported results of an edge's checks. Each check is judged by its entry in `details`. The counts are for readers and must
 * agree with the entries.
 */
export const checkReports = z
  .strictObject({
    passed: checkCount,
    failed: checkCount,
    skipped: checkCount,
    total: checkCount,
    details: z
      .array(
        z.strictObject({
          name: boundedText(256),
          type: boundedText(64).optional(),
          result: z.enum(CHECK_RESULTS),
          required: z.boolean().optional(),
          says: z.string().max(2000).optional(),
        }),
      )
      .max(500),
  })
  .refine(...withinBytes(REPORTS_BYTES_MAX))
  .refine(({ passed, failed, total, details }) => {
    const notPassed = details.filter(({ result }) => result !== 'pass').length;
    const knownFailed = details.filter(({ result }) => result === 'fail').length;
    return details.length <= total && passed <= total - notPassed && failed >= knownFailed;
  }, 'expected counts that agree with the details');

/** A required check that has not passed, and why. */
export const failingCheck = z.object({ name: z.string(), says: z.string() });

/** A check for one feature on one edge, with variables replaced and `required` resolved. */
export const effectiveCheck = z.object({
  name: z.string(),
  type: z.enum(CHECK_TYPES),
  criterion: z.string(),
  required: z.boolean(),
  command: z.string().exactOptional(),
  pass_criterion: z.string().exactOptional(),
  ...checkExecutionFields,
  /** A required check that is skipped has not passed. */
  skipped: z.string().nullable().describe('why the check cannot be run'),
});

/** Which results of deterministic checks count in this project. */
export const evidencePolicyStatus = withName(
  'EvidencePolicyStatus',
  z.object({
    policy: z.enum(EVIDENCE_POLICIES),
    runners: count.describe('enrolled runners'),
    says: z.string(),
    is_blocked: z
      .boolean()
      .describe('no runner is enrolled, so no edge with a deterministic check converges'),
  }),
);

/** Limits for the failing checks of a candidate that a run hands to a person: their number, and the length of each text. */
export const FAILING_CHECKS_MAX = 20;
export const FAILING_TEXT_MAX = 300;
export type FailingCheck = ReplyOf<typeof failingCheck>;
export type EffectiveCheck = ReplyOf<typeof effectiveCheck>;
