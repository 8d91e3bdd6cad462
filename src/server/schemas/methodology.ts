import { z } from 'zod';
import type * as wire from '../../coordinator/methodology/wire.js';
import type { ConfigureResult } from '../../coordinator/wire/index.js';
import { type FeatureVector, VECTOR_TYPES } from '../../core/methodology/definition/methodology.js';
import { featureVectorSchema } from '../../core/methodology/definition/methodology-schema.js';
import type { MethodologySignal } from '../../core/methodology/progress/feature-state.js';
import { GAP_LAYERS } from '../../core/methodology/progress/gaps.js';
import { FEATURE_STATUSES } from '../../core/methodology/progress/project-progress.js';
import {
  type Escalation,
  type OverlappingWork,
  WORKSPACE_STATES,
} from '../../core/methodology/routing/route.js';
import type { FeatureSnapshot } from '../../core/methodology/views/snapshot.js';
import { count, jsonRecord, registerSchema, time } from './common.js';

const text = z.string();
export const severity = z.enum(['critical', 'high', 'medium', 'low']);
export const edgeStatus = z.enum(['pending', 'iterating', 'converged', 'blocked', 'pending_review']);
/** The log position that a reply is based on. */
export const asOfFields = { position: count, last_updated: time.nullable() };

export const ESCALATION_KINDS = [
  'review',
  'escalation',
  'hold',
  'intent',
  'stuck',
  'stale_claim',
  'time_box',
  'max_iterations',
] as const;
export const escalation = registerSchema<Escalation>()(
  'Escalation',
  z.object({
    kind: z.enum(ESCALATION_KINDS),
    feature_id: text.nullable(),
    edge: text.nullable(),
    severity,
    since: time,
    says: text,
    next: text.describe('the command that settles it'),
  }),
);
export const sharedWork = registerSchema<OverlappingWork>()(
  'SharedWork',
  z.object({
    feature_id: text,
    edge: text,
    agent_id: text,
    inner_product: count.nullable().describe('how many modules both touch; null: unknown'),
    shared_modules: z.array(text),
    says: text,
  }),
);
export const startReply = registerSchema<wire.StartReply>()(
  'Start',
  z.object({
    execution_id: z.null(),
    state: z.enum(WORKSPACE_STATES),
    feature: text.nullable(),
    edge: text.nullable(),
    iteration: count.nullable(),
    routing_reason: text,
    reasons: z.array(text),
    skipped: z.array(z.object({ feature: text, edge: text.nullable(), says: text })),
    escalations: z.array(escalation),
    parallel: z.array(sharedWork),
    refused: text.nullable(),
    next: text,
    ...asOfFields,
  }),
);

export const featureVector = registerSchema<FeatureVector>()('FeatureVector', featureVectorSchema);
export const spawnReply = registerSchema<wire.SpawnReply>()(
  'Spawn',
  z.object({
    success: z.boolean(),
    reason: text,
    feature_id: text.nullable(),
    vector: featureVector.nullable(),
    blocks: text.nullable().describe('the edge of the parent that waits for it'),
    event_id: text.nullable(),
    next: text,
  }),
);
export const foldBackReply = registerSchema<wire.FoldBackReply>()(
  'FoldBack',
  z.object({
    success: z.boolean(),
    reason: text,
    child: text,
    parent: text.nullable(),
    unblocked: text.nullable(),
    remediation: text.nullable(),
    next: text,
  }),
);

const featureSnapshot = registerSchema<FeatureSnapshot>()(
  'FeatureSnapshot',
  z.object({
    feature_id: text,
    title: text,
    vector_type: z.enum(VECTOR_TYPES),
    profile: text,
    status: z.enum(FEATURE_STATUSES),
    edges: z.array(
      z.object({
        edge: text,
        status: edgeStatus,
        iteration: count,
        delta: z.number().nullable(),
        converged_at: text.nullable(),
      }),
    ),
  }),
);
const snapshot = registerSchema<wire.CheckpointSnapshot>()(
  'Snapshot',
  z.object({
    position: count,
    timestamp: time,
    message: text.nullable(),
    context_hash: text,
    git_ref: text.nullable(),
    feature_states: z.array(featureSnapshot),
    tasks: z.object({ total: count, completed: count }),
  }),
);
export const checkpointReply = registerSchema<wire.CheckpointReply>()(
  'Checkpoint',
  z.object({
    success: z.boolean(),
    reason: text,
    snapshot: snapshot.nullable(),
    event_id: text.nullable(),
    next: text,
  }),
);

const pendingReview = registerSchema<wire.PendingReview>()(
  'PendingReview',
  z.object({
    task_id: text,
    feature_id: text.nullable(),
    edge: text.nullable(),
    generation: count,
    iteration: count,
    candidate_sha256: text,
    work_product_ref: text.nullable(),
    agent_id: text,
    agent_role: text.nullable(),
    reason: text,
    since: time,
    deadline: time.nullable(),
    evaluators: jsonRecord.nullable(),
    files: z
      .array(z.object({ path: text, sha256: text, size_bytes: count }))
      .nullable()
      .describe('what the files of the project would become; at most 100 are named'),
    file_count: count,
    human_checks: z.array(z.object({ name: text, criterion: text })),
    next: text,
  }),
);
export const reviewsReply = registerSchema<wire.ReviewsReply>()(
  'PendingReviews',
  z.object({ reviews: z.array(pendingReview), ...asOfFields }),
);

const layers = z.array(z.enum(GAP_LAYERS));
export const gapsReply = registerSchema<wire.GapsReply>()(
  'Gaps',
  z.object({
    success: z.boolean(),
    result: z.enum(['COMPLETE', 'GAPS']),
    total_req_keys: count,
    full_coverage: count,
    partial_coverage: count,
    no_coverage: count,
    test_gaps: count,
    telemetry_gaps: count,
    layer_results: z.record(text, text),
    clusters: z.array(
      z.object({
        domain: text,
        severity: z.enum(['high', 'medium']),
        keys: z.array(text),
        key_count: count,
        layers,
        intent_id: text,
      }),
    ),
    event_id: text.nullable(),
    next: text,
    ...asOfFields,
  }),
);
export const signal = registerSchema<MethodologySignal>()(
  'Signal',
  z.object({
    id: text,
    kind: z.enum(['intent', 'escalation', 'stale_claim']),
    at: time,
    position: count,
    feature_id: text.nullable(),
    edge: text.nullable(),
    severity,
    says: text,
  }),
);
export const gapsFound = z.object({
  at: time,
  total_req_keys: count,
  full_coverage: count,
  no_coverage: count,
});
export const gapsFoundReply = registerSchema<wire.GapsFoundReply>()(
  'GapsFound',
  z.object({
    last: gapsFound.nullable(),
    open: z.array(signal),
    ...asOfFields,
  }),
);

export const releaseReply = registerSchema<wire.VersionReleaseReply>()(
  'Release',
  z.object({
    success: z.boolean(),
    reason: text,
    version: text,
    readiness: z.array(z.object({ name: text, passed: z.boolean(), lacking: z.boolean(), says: text })),
    release: z
      .object({
        version: text,
        date: time,
        context_hash: text.nullable(),
        git_tag: text.nullable(),
        features_included: z.array(text),
        coverage_pct: z.number().nullable(),
        known_gaps: count.nullable(),
      })
      .nullable(),
    next: text,
  }),
);

const fault = z.object({
  file: text,
  path: text,
  message: text,
  line: count.exactOptional(),
  column: count.exactOptional(),
});
export const configureReply = registerSchema<ConfigureResult>()(
  'Configuration',
  z.object({
    success: z.literal(true),
    reason: z.enum(['CONFIGURED', 'UNCHANGED']),
    version: count,
    feature_count: count,
    features_changed: count,
    warnings: z.array(fault),
  }),
);
