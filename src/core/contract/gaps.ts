import { z } from 'zod';
import {
  actorFields,
  anyText,
  boundedCount,
  featureId,
  GAP_KEYS_MAX,
  reqKey,
  severity,
  singleLineText,
} from './methodology-fields.js';
import { count, positionFields, type ReplyOf, time, withName } from './schema.js';
import { GAP_LAYERS } from './values.js';

/** Occurrences of a requirement key: layer 1 in code, layer 2 in tests, layer 3 in telemetry. */
const keyCounts = z.strictObject({
  key: reqKey,
  code: boundedCount,
  tests: boundedCount,
  telemetry: boundedCount,
});
export const gapsBody = z.strictObject({
  layers_run: z.array(z.int().min(1).max(3)).min(1).max(3),
  /** The feature that was examined. Default: all. */
  feature: featureId.optional(),
  /** Every key of the specification, once. */
  keys: z.array(keyCounts).max(GAP_KEYS_MAX),
  /** Keys used in code but missing from the specification. */
  orphan_keys: z.array(singleLineText(256)).max(GAP_KEYS_MAX).optional(),
  untagged_files: boundedCount.optional(),
  dry_run: z.boolean().optional(),
  ...actorFields,
});
/** Requirement keys of one domain that lack coverage. */
const gapCluster = z.object({
  domain: anyText,
  severity: z.enum(['high', 'medium']),
  keys: z.array(anyText),
  layers: z.array(z.enum(GAP_LAYERS)),
});
/** The same gaps always have the same intent id. At most 100 keys are listed; `key_count` has the full number. */
const identifiedGapCluster = gapCluster.extend({ key_count: count, intent_id: anyText });
const gapCounts = {
  total_req_keys: count,
  full_coverage: count,
  partial_coverage: count,
  no_coverage: count,
  test_gaps: count,
  telemetry_gaps: count,
  layer_results: z.record(anyText, z.enum(['pass', 'fail'])),
};
const gapReport = z.object({ ...gapCounts, clusters: z.array(gapCluster) });
export const gapsReply = withName(
  'Gaps',
  z.object({
    success: z.literal(true),
    result: z.enum(['COMPLETE', 'GAPS']),
    ...gapCounts,
    clusters: z.array(identifiedGapCluster),
    /** Null for a dry run, which writes nothing. */
    event_id: anyText.nullable(),
    next: anyText,
    ...positionFields,
  }),
);
/** An unresolved `intent_raised`, `convergence_escalated` or `claim_expired`. */
export const methodologySignal = withName(
  'Signal',
  z.object({
    id: anyText,
    kind: z.enum(['intent', 'escalation', 'stale_claim']),
    at: time,
    position: count,
    feature_id: anyText.nullable(),
    edge: anyText.nullable(),
    severity,
    says: anyText,
  }),
);
export const gapsSummary = z.object({
  at: time,
  total_req_keys: count,
  full_coverage: count,
  no_coverage: count,
});
/** The last gap report, and the intents on which nobody has acted since. */
export const gapsFoundReply = withName(
  'GapsFound',
  z.object({ last: gapsSummary.nullable(), open: z.array(methodologySignal), ...positionFields }),
);
export type KeyCounts = ReplyOf<typeof keyCounts>;
export type GapsBody = z.input<typeof gapsBody>;
export type GapCluster = ReplyOf<typeof gapCluster>;
export type IdentifiedGapCluster = ReplyOf<typeof identifiedGapCluster>;
export type GapReport = ReplyOf<typeof gapReport>;
export type GapsReply = ReplyOf<typeof gapsReply>;
export type MethodologySignal = ReplyOf<typeof methodologySignal>;
export type GapsSummary = ReplyOf<typeof gapsSummary>;
export type GapsFoundReply = ReplyOf<typeof gapsFoundReply>;
