import { z } from 'zod';
import { agentIdSchema, requestIdSchema } from '../../core/ids.js';
import type { EffectiveCheck } from '../../core/methodology/definition/checklist.js';
import type { ManifestFile } from '../../core/methodology/definition/manifest.js';
import {
  type FeatureVector,
  PRIORITIES,
  VECTOR_TYPES,
} from '../../core/methodology/definition/methodology.js';
import type { GapsSummary, MethodologySignal } from '../../core/methodology/progress/feature-state.js';
import type { GapCluster } from '../../core/methodology/progress/gaps.js';
import type { ReadinessCheck } from '../../core/methodology/progress/readiness.js';
import type {
  Escalation,
  OverlappingWork,
  RouteAdvice,
  WorkspaceState,
} from '../../core/methodology/routing/route.js';
import type { FeatureSnapshot } from '../../core/methodology/views/snapshot.js';
import type { RequirementTrace } from '../../core/methodology/views/trace.js';
import { mutationFields } from '../wire/index.js';

/** Request bodies of the methodology commands: strict, bounded, and named as in the wire contract. */

const FEATURE_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/;
const SEMVER =
  /^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(-[0-9A-Za-z.-]{1,64})?(\+[0-9A-Za-z.-]{1,64})?$/;
export const GAP_KEYS_MAX = 10_000;
const ARTIFACTS_MAX = 100;

const boundedText = (max: number) => z.string().min(1).max(max);
/** One line of text without control characters, because it may be printed or used as a file name. */
const singleLine = (max: number) =>
  boundedText(max).regex(/^\P{Cc}*$/u, { error: 'expected no control characters' });
const featureId = z
  .string()
  .max(100, { abort: true })
  .regex(FEATURE_ID, { error: 'expected a feature id, as REQ-F-AUTH-001' });
const edge = singleLine(100);
const reqKey = z
  .string()
  .max(256, { abort: true })
  .regex(/^REQ-[A-Z0-9][A-Z0-9._-]*$/, { error: 'expected a requirement key, as REQ-F-AUTH-001' });
const count = z.number().int().min(0).max(1_000_000_000);
const contextHash = singleLine(200);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/, { error: 'expected a SHA-256: 64 lowercase hex digits' });

/** The acting agent. Without `agent_id` the caller's credential identifies it. */
const actorFields = { agent_id: agentIdSchema.optional(), ...mutationFields };

export const startBody = z.strictObject({
  feature: featureId.optional(),
  edge: edge.optional(),
  profile: singleLine(64).optional(),
  agent_id: agentIdSchema.optional(),
  agent_role: singleLine(64).optional(),
  dry_run: z.boolean().optional(),
  request_id: requestIdSchema.optional(),
});
export const featureBody = z.strictObject({ feature: featureId });
/** One edge, or the whole graph if omitted; of one feature, or of all. */
export const zoomBody = z.strictObject({ edge: edge.optional(), feature: featureId.optional() });
export const TRACE_DIRECTIONS = ['forward', 'backward', 'both'] as const;
/** A requirement key or a feature id. Features can have any id, so this is more permissive than `reqKey`. */
const tracedId = z
  .string()
  .max(256, { abort: true })
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, { error: 'expected a requirement key or the id of a feature' });
export const traceBody = z.strictObject({
  req: tracedId,
  direction: z.enum(TRACE_DIRECTIONS).default('both'),
});

export const spawnBody = z
  .strictObject({
    vector_type: z.enum(VECTOR_TYPES),
    /** Only for vector_type `feature`; other types get a numbered id. */
    feature_id: featureId.optional(),
    parent: featureId.optional(),
    /** The parent's edge that raised the question. */
    edge: edge.optional(),
    /** Whether that edge waits for the answer. Default: true if an edge is named. */
    blocks: z.boolean().optional(),
    reason: singleLine(2000),
    title: singleLine(200).optional(),
    intent: singleLine(200).optional(),
    profile: singleLine(64).optional(),
    /** For example `2 weeks` or `1h30m`. */
    duration: singleLine(64).optional(),
    priority: z.enum(PRIORITIES).optional(),
    ...actorFields,
  })
  .superRefine(({ vector_type, feature_id, parent, edge: parentEdge, blocks }, context) => {
    const addIssue = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message });
    const isFeature = vector_type === 'feature';
    if (isFeature && feature_id === undefined) addIssue('feature_id', 'expected the id of the new feature');
    if (!isFeature && feature_id !== undefined) addIssue('feature_id', `a ${vector_type} is given its id`);
    if (!isFeature && parent === undefined) addIssue('parent', `a ${vector_type} is spawned from a feature`);
    if (parentEdge !== undefined && parent === undefined)
      addIssue('edge', 'an edge of the parent, and no parent is named');
    if (blocks === true && parentEdge === undefined)
      addIssue('edge', 'expected the edge of the parent that waits');
  });
export const foldBackBody = z.strictObject({
  /** The child feature. */
  feature_id: featureId,
  fold_back_status: z.enum(['converged', 'time_box_expired']),
  /** The child's question is answered although not all of its edges have converged. */
  question_answered: z.boolean().optional(),
  summary: boundedText(4000),
  recommendation: z.enum(['proceed', 'pivot', 'abandon']),
  artifacts: z.array(singleLine(1024)).max(ARTIFACTS_MAX).optional(),
  payload_path: singleLine(1024).optional(),
  ...actorFields,
});
export const checkpointBody = z.strictObject({
  context_hash: contextHash,
  message: boundedText(4000).optional(),
  git_ref: singleLine(200).optional(),
  snapshot_path: singleLine(1024).optional(),
  /** Limits the checkpoint to these features. Default: all. */
  features: z.array(featureId).max(1000).optional(),
  ...actorFields,
});

export const DECISION_CODES = {
  approved: 'APPROVED',
  rejected: 'REJECTED',
  refined: 'CHANGES_REQUESTED',
  APPROVED: 'APPROVED',
  REJECTED: 'REJECTED',
  CHANGES_REQUESTED: 'CHANGES_REQUESTED',
} as const;
export const reviewBody = z.strictObject({
  task_id: singleLine(200).optional(),
  feature_id: featureId.optional(),
  edge: edge.optional(),
  /** These three identify the reviewed candidate, as listed by `reviews`. */
  generation: count,
  iteration: z.number().int().min(1).max(1_000_000),
  candidate_sha256: sha256,
  decision: z.enum(
    Object.keys(DECISION_CODES) as [keyof typeof DECISION_CODES, ...(keyof typeof DECISION_CODES)[]],
  ),
  comment: boundedText(4000).optional(),
  ...mutationFields,
});

/** Occurrences of a key: layer 1 in code, layer 2 in tests, layer 3 in telemetry. */
const coveredKey = z.strictObject({ key: reqKey, code: count, tests: count, telemetry: count });
export const gapsBody = z.strictObject({
  layers_run: z.array(z.int().min(1).max(3)).min(1).max(3),
  /** The feature that was examined. Default: all. */
  feature: featureId.optional(),
  /** Every key of the specification, once. */
  keys: z.array(coveredKey).max(GAP_KEYS_MAX),
  /** Keys used in code but missing from the specification. */
  orphan_keys: z.array(singleLine(256)).max(GAP_KEYS_MAX).optional(),
  untagged_files: count.optional(),
  dry_run: z.boolean().optional(),
  ...actorFields,
});
export const releaseBody = z.strictObject({
  version: z.string().max(160, { abort: true }).regex(SEMVER, { error: 'expected a version, as 1.2.0' }),
  dry_run: z.boolean().optional(),
  git_tag: singleLine(200).optional(),
  context_hash: contextHash.optional(),
  coverage_pct: z.number().min(0).max(100).optional(),
  known_gaps: count.optional(),
  ...actorFields,
});

export type StartBody = z.input<typeof startBody>;
export type FeatureBody = z.input<typeof featureBody>;
export type ZoomBody = z.input<typeof zoomBody>;
export type TraceBody = z.input<typeof traceBody>;
export type SpawnBody = z.input<typeof spawnBody>;
export type FoldBackBody = z.input<typeof foldBackBody>;
export type CheckpointBody = z.input<typeof checkpointBody>;
export type MethodologyReviewBody = z.input<typeof reviewBody>;
export type GapsBody = z.input<typeof gapsBody>;
export type VersionReleaseBody = z.input<typeof releaseBody>;

/** The log position that a reply is based on. */

export interface LogPosition {
  position: number;
  last_updated: string | null;
}

/** A recommendation: nothing is written, and only a claim decides. `execution_id` is left to the runner of the edge. */
export interface StartReply extends LogPosition {
  execution_id: null;
  state: WorkspaceState;
  feature: string | null;
  edge: string | null;
  iteration: number | null;
  /** The reasons joined into one line. */
  routing_reason: string;
  reasons: readonly string[];
  skipped: RouteAdvice['skipped'];
  escalations: readonly Escalation[];
  parallel: readonly OverlappingWork[];
  refused: string | null;
  next: string;
}

export interface SpawnReply {
  success: boolean;
  /**
   * SPAWNED; NOT_INITIALISED, UNKNOWN_FEATURE, FEATURE_EXISTS, UNKNOWN_PROFILE, UNKNOWN_EDGE, PARENT_CONVERGED,
   * NESTED_TOO_DEEP, INVALID_DURATION, PARENT_TIME_BOX.
   */
  reason: string;
  feature_id: string | null;
  vector: FeatureVector | null;
  /** The parent's edge that waits for the child. */
  blocks: string | null;
  event_id: string | null;
  next: string;
}

export interface FoldBackReply {
  success: boolean;
  /** FOLDED_BACK; NOT_INITIALISED, UNKNOWN_FEATURE, NO_PARENT, NOT_CONVERGED, TIME_BOX_RUNNING, ALREADY_FOLDED_BACK. */
  reason: string;
  child: string;
  parent: string | null;
  /** The parent's edge that waited for the child and is unblocked now. */
  unblocked: string | null;
  /** The feature that a hotfix spawns, to replace the hotfix with a proper solution. */
  remediation: string | null;
  next: string;
}

export interface CheckpointSnapshot {
  /** The snapshot is computed from the log up to this position, so it is reproducible. */
  position: number;
  timestamp: string;
  message: string | null;
  context_hash: string;
  git_ref: string | null;
  feature_states: readonly FeatureSnapshot[];
  tasks: { total: number; completed: number };
}
export interface CheckpointReply {
  success: boolean;
  /** CHECKPOINTED; NOT_INITIALISED, UNKNOWN_FEATURE. */
  reason: string;
  snapshot: CheckpointSnapshot | null;
  event_id: string | null;
  next: string;
}

/** A candidate that waits for a human, with the fields a decision on it must name. */
export interface PendingReview {
  task_id: string;
  feature_id: string | null;
  edge: string | null;
  generation: number;
  iteration: number;
  candidate_sha256: string;
  work_product_ref: string | null;
  agent_id: string;
  agent_role: string | null;
  reason: string;
  since: string;
  deadline: string | null;
  /** The latest reported counts: passed, failed, skipped, total. */
  evaluators: Readonly<Record<string, unknown>> | null;
  /** The files that the candidate would change, at most 100; null if the candidate is not a file manifest. */
  files: readonly Pick<ManifestFile, 'path' | 'sha256' | 'size_bytes'>[] | null;
  file_count: number;
  /** The edge's checks that only a human can pass. */
  human_checks: readonly Pick<EffectiveCheck, 'name' | 'criterion'>[];
  next: string;
}
export interface ReviewsReply extends LogPosition {
  reviews: readonly PendingReview[];
}

/** A cluster of gaps with its intent id. The same gaps always have the same id. */
export interface IdentifiedGapCluster extends GapCluster {
  /** At most 100; `key_count` has the full number. */
  readonly keys: readonly string[];
  readonly key_count: number;
  readonly intent_id: string;
}
export interface GapsReply extends LogPosition {
  success: boolean;
  result: 'COMPLETE' | 'GAPS';
  total_req_keys: number;
  full_coverage: number;
  partial_coverage: number;
  no_coverage: number;
  test_gaps: number;
  telemetry_gaps: number;
  layer_results: Readonly<Record<string, string>>;
  clusters: readonly IdentifiedGapCluster[];
  /** Null for a dry run, which writes nothing. */
  event_id: string | null;
  next: string;
}
/** The last gap report, and the intents that nobody has acted on since. */
export interface GapsFoundReply extends LogPosition {
  last: GapsSummary | null;
  open: readonly MethodologySignal[];
}

export interface VersionReleaseReply {
  success: boolean;
  /** RELEASED; READY for a dry run; NOT_INITIALISED, NOT_READY, VERSION_EXISTS. */
  reason: string;
  version: string;
  readiness: readonly ReadinessCheck[];
  /** Contents of the release manifest; null if nothing was released. */
  release: {
    version: string;
    date: string;
    context_hash: string | null;
    git_tag: string | null;
    features_included: readonly string[];
    coverage_pct: number | null;
    known_gaps: number | null;
  } | null;
  next: string;
}

/** Backward: its origins, intents and parents. Forward: its outcomes, edges and children. */
export interface TraceReply extends RequirementTrace, LogPosition {
  direction: (typeof TRACE_DIRECTIONS)[number];
}
