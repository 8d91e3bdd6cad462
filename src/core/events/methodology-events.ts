import { z } from 'zod';
import { CHECK_RESULTS, SEVERITIES } from '../contract/values.js';
import { runEventSchemas } from '../engine/run-events.js';
import { nameSchema, nonNegativeInteger, openObject, sentenceSchema } from './fields.js';

const findings = z.array(z.unknown()).max(1000);
const path = z.string().max(1024);
const checkCounts = z.strictObject({
  passed: nonNegativeInteger,
  failed: nonNegativeInteger,
  skipped: nonNegativeInteger,
  total: nonNegativeInteger,
  details: z.array(openObject).max(1000).exactOptional(),
});

const requirementKeys = z.array(nameSchema).max(1000);
/** An edge is expanded into separate steps, or collapsed again. */
const zoomPayload = z.strictObject({
  /** The topology around the edge, before and after. */
  before: openObject,
  after: openObject,
  reason: sentenceSchema.exactOptional(),
});

/**
 * Methodology events that are not part of a claim (specification 001). `edge_started`, `edge_converged` and
 * `review_completed` are edge events; `edge_claim` is a command and never in a log.
 */
export const methodologyEventSchemas = {
  project_initialized: z.strictObject({
    language: nameSchema.exactOptional(),
    tools_detected: z.array(nameSchema).max(100).exactOptional(),
    constraint_dimensions_configured: nonNegativeInteger.exactOptional(),
    asset_types: nonNegativeInteger.exactOptional(),
    transitions: nonNegativeInteger.exactOptional(),
    profile: nameSchema.exactOptional(),
  }),
  iteration_completed: z.strictObject({
    iteration: nonNegativeInteger,
    status: z.enum(['iterating', 'converged', 'blocked', 'time_box_expired', 'spawn_requested']),
    delta: nonNegativeInteger.exactOptional(),
    convergence_type: z.string().max(256).exactOptional(),
    evaluators: checkCounts.exactOptional(),
    asset: path.exactOptional(),
    candidate_sha256: nameSchema.exactOptional(),
    context_hash: nameSchema.exactOptional(),
    profile: nameSchema.exactOptional(),
    vector_type: nameSchema.exactOptional(),
    /**
     * How another tool encoded the edge, for example its mode, its valence and the number of its active functional units. Kept
     * as it is, and never read.
     */
    encoding: openObject.exactOptional(),
    next_edge: nameSchema.exactOptional(),
    source_findings: findings.exactOptional(),
    process_gaps: findings.exactOptional(),
  }),
  spawn_created: z.strictObject({
    // A feature may have no parent.
    parent: nameSchema.exactOptional(),
    child: nameSchema,
    title: sentenceSchema.exactOptional(),
    intent: nameSchema.exactOptional(),
    vector_type: nameSchema,
    reason: sentenceSchema,
    time_box: nameSchema.exactOptional(),
    profile: nameSchema.exactOptional(),
    triggered_at_edge: nameSchema.exactOptional(),
  }),
  spawn_folded_back: z.strictObject({
    parent: nameSchema,
    child: nameSchema,
    fold_back_status: z.enum(['converged', 'time_box_expired']),
    /**
     * How the child converged: `question_answered` if its question was answered, whatever the state of its edges. Other tools
     * write other values.
     */
    convergence_type: nameSchema.exactOptional(),
    summary: sentenceSchema.exactOptional(),
    recommendation: z.enum(['proceed', 'pivot', 'abandon']).exactOptional(),
    artifacts: z.array(path).max(100).exactOptional(),
    payload_path: path.exactOptional(),
  }),
  checkpoint_created: z.strictObject({
    context_hash: nameSchema,
    feature_count: nonNegativeInteger.exactOptional(),
    git_ref: nameSchema.exactOptional(),
    message: sentenceSchema.exactOptional(),
    snapshot_path: path.exactOptional(),
    /** The snapshot includes the log up to this position. */
    position: nonNegativeInteger.exactOptional(),
  }),
  gaps_validated: z.strictObject({
    layers_run: z.array(z.int().min(1).max(3)).max(3),
    feature: nameSchema.exactOptional(),
    total_req_keys: nonNegativeInteger,
    full_coverage: nonNegativeInteger,
    partial_coverage: nonNegativeInteger,
    no_coverage: nonNegativeInteger,
    test_gaps: nonNegativeInteger.exactOptional(),
    telemetry_gaps: nonNegativeInteger.exactOptional(),
    layer_results: z.record(nameSchema, nameSchema).exactOptional(),
  }),
  release_created: z.strictObject({
    version: nameSchema,
    features_included: nonNegativeInteger,
    coverage_pct: z.number().min(0).max(100).exactOptional(),
    known_gaps: nonNegativeInteger.exactOptional(),
    context_hash: nameSchema.exactOptional(),
    git_tag: nameSchema.exactOptional(),
  }),
  evaluator_detail: z.strictObject({
    iteration: nonNegativeInteger.exactOptional(),
    check_name: nameSchema,
    check_type: nameSchema.exactOptional(),
    result: z.enum(CHECK_RESULTS),
    expected: sentenceSchema.exactOptional(),
    observed: sentenceSchema.exactOptional(),
    command: sentenceSchema.exactOptional(),
  }),
  iteration_abandoned: z.strictObject({
    iteration: nonNegativeInteger.exactOptional(),
    reason: sentenceSchema,
    last_event_at: nameSchema.exactOptional(),
  }),
  intent_raised: z.strictObject({
    intent_id: nameSchema,
    trigger: sentenceSchema,
    delta: sentenceSchema.exactOptional(),
    signal_source: nameSchema.exactOptional(),
    vector_type: nameSchema.exactOptional(),
    affected_req_keys: requirementKeys.exactOptional(),
    prior_intents: requirementKeys.exactOptional(),
    edge_context: nameSchema.exactOptional(),
    severity: z.enum(SEVERITIES).exactOptional(),
  }),
  spec_modified: z.strictObject({
    trigger_intent: nameSchema,
    signal_source: nameSchema.exactOptional(),
    what_changed: z.array(sentenceSchema).max(1000),
    affected_req_keys: requirementKeys.exactOptional(),
    spawned_vectors: requirementKeys.exactOptional(),
    prior_intents: requirementKeys.exactOptional(),
  }),
  escalation_resolved: z.strictObject({
    escalation_type: z.enum([
      'stuck',
      'tolerance',
      'intent',
      'review',
      'max_iteration',
      'stale_claim',
      'time_box',
    ]),
    action: z.enum(['spawn', 'force_iterate', 'relax', 'review', 'dismiss']),
    reason: sentenceSchema.exactOptional(),
    intent_id: nameSchema.exactOptional(),
  }),
  escalation_queue_reviewed: z.strictObject({
    queue_size: nonNegativeInteger,
    items_processed: nonNegativeInteger,
    actions_taken: z.record(nameSchema, nonNegativeInteger).exactOptional(),
    oldest_unresolved_days: z.number().nonnegative().exactOptional(),
    severity_distribution: z.record(nameSchema, nonNegativeInteger).exactOptional(),
  }),
  /** A functional unit moved to another category: `F_D`, `F_P` or `F_H`, the types of checks in other tools. */
  encoding_escalated: z.strictObject({
    iteration: nonNegativeInteger.exactOptional(),
    functional_unit: nameSchema,
    from_category: nameSchema,
    to_category: nameSchema,
    trigger: sentenceSchema,
  }),
  graph_zoom_in: zoomPayload,
  graph_zoom_out: zoomPayload,
  graph_zoom_selective: zoomPayload,
  health_checked: z.strictObject({
    passed: nonNegativeInteger,
    failed: nonNegativeInteger,
    checks: z.array(openObject).max(1000).exactOptional(),
    recommended_actions: z.array(sentenceSchema).max(100).exactOptional(),
  }),
  ...runEventSchemas,
};
