import { z } from 'zod';
import { CHECK_RESULTS } from '../contract/values.js';
import { runEventSchemas } from '../engine/run-events.js';
import { name, nonNegativeInteger, openObject, sentence } from './fields.js';

const findings = z.array(z.unknown()).max(1000);
const path = z.string().max(1024);
const checkCounts = z.strictObject({
  passed: nonNegativeInteger,
  failed: nonNegativeInteger,
  skipped: nonNegativeInteger,
  total: nonNegativeInteger,
  details: z.array(openObject).max(1000).exactOptional(),
});

const requirementKeys = z.array(name).max(1000);
/** An edge is expanded into separate steps, or collapsed again. */
const zoomPayload = z.strictObject({
  /** The topology around the edge, before and after. */
  before: openObject,
  after: openObject,
  reason: sentence.exactOptional(),
});

/**
 * Methodology events that are not part of a claim (specification 001). `edge_started`, `edge_converged` and
 * `review_completed` are edge events; `edge_claim` is a command and never in a log.
 */
export const methodologyEventSchemas = {
  project_initialized: z.strictObject({
    language: name.exactOptional(),
    tools_detected: z.array(name).max(100).exactOptional(),
    constraint_dimensions_configured: nonNegativeInteger.exactOptional(),
    asset_types: nonNegativeInteger.exactOptional(),
    transitions: nonNegativeInteger.exactOptional(),
    profile: name.exactOptional(),
  }),
  iteration_completed: z.strictObject({
    iteration: nonNegativeInteger,
    status: z.enum(['iterating', 'converged', 'blocked', 'time_box_expired', 'spawn_requested']),
    delta: nonNegativeInteger.exactOptional(),
    convergence_type: z.string().max(256).exactOptional(),
    evaluators: checkCounts.exactOptional(),
    asset: path.exactOptional(),
    candidate_sha256: name.exactOptional(),
    context_hash: name.exactOptional(),
    profile: name.exactOptional(),
    vector_type: name.exactOptional(),
    encoding: openObject.exactOptional(),
    next_edge: name.exactOptional(),
    source_findings: findings.exactOptional(),
    process_gaps: findings.exactOptional(),
  }),
  spawn_created: z.strictObject({
    // A feature may have no parent.
    parent: name.exactOptional(),
    child: name,
    title: sentence.exactOptional(),
    intent: name.exactOptional(),
    vector_type: name,
    reason: sentence,
    time_box: name.exactOptional(),
    profile: name.exactOptional(),
    triggered_at_edge: name.exactOptional(),
  }),
  spawn_folded_back: z.strictObject({
    parent: name,
    child: name,
    fold_back_status: z.enum(['converged', 'time_box_expired']),
    convergence_type: name.exactOptional(),
    summary: sentence.exactOptional(),
    recommendation: z.enum(['proceed', 'pivot', 'abandon']).exactOptional(),
    artifacts: z.array(path).max(100).exactOptional(),
    payload_path: path.exactOptional(),
  }),
  checkpoint_created: z.strictObject({
    context_hash: name,
    feature_count: nonNegativeInteger.exactOptional(),
    git_ref: name.exactOptional(),
    message: sentence.exactOptional(),
    snapshot_path: path.exactOptional(),
    /** The snapshot includes the log up to this position. */
    position: nonNegativeInteger.exactOptional(),
  }),
  gaps_validated: z.strictObject({
    layers_run: z.array(z.int().min(1).max(3)).max(3),
    feature: name.exactOptional(),
    total_req_keys: nonNegativeInteger,
    full_coverage: nonNegativeInteger,
    partial_coverage: nonNegativeInteger,
    no_coverage: nonNegativeInteger,
    test_gaps: nonNegativeInteger.exactOptional(),
    telemetry_gaps: nonNegativeInteger.exactOptional(),
    layer_results: z.record(name, name).exactOptional(),
  }),
  release_created: z.strictObject({
    version: name,
    features_included: nonNegativeInteger,
    coverage_pct: z.number().min(0).max(100).exactOptional(),
    known_gaps: nonNegativeInteger.exactOptional(),
    context_hash: name.exactOptional(),
    git_tag: name.exactOptional(),
  }),
  evaluator_detail: z.strictObject({
    iteration: nonNegativeInteger.exactOptional(),
    check_name: name,
    check_type: name.exactOptional(),
    result: z.enum(CHECK_RESULTS),
    expected: sentence.exactOptional(),
    observed: sentence.exactOptional(),
    command: sentence.exactOptional(),
  }),
  iteration_abandoned: z.strictObject({
    iteration: nonNegativeInteger.exactOptional(),
    reason: sentence,
    last_event_at: name.exactOptional(),
  }),
  intent_raised: z.strictObject({
    intent_id: name,
    trigger: sentence,
    delta: sentence.exactOptional(),
    signal_source: name.exactOptional(),
    vector_type: name.exactOptional(),
    affected_req_keys: requirementKeys.exactOptional(),
    prior_intents: requirementKeys.exactOptional(),
    edge_context: name.exactOptional(),
    severity: z.enum(['critical', 'high', 'medium', 'low']).exactOptional(),
  }),
  spec_modified: z.strictObject({
    trigger_intent: name,
    signal_source: name.exactOptional(),
    what_changed: z.array(sentence).max(1000),
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
    reason: sentence.exactOptional(),
    intent_id: name.exactOptional(),
  }),
  escalation_queue_reviewed: z.strictObject({
    queue_size: nonNegativeInteger,
    items_processed: nonNegativeInteger,
    actions_taken: z.record(name, nonNegativeInteger).exactOptional(),
    oldest_unresolved_days: z.number().nonnegative().exactOptional(),
    severity_distribution: z.record(name, nonNegativeInteger).exactOptional(),
  }),
  encoding_escalated: z.strictObject({
    iteration: nonNegativeInteger.exactOptional(),
    functional_unit: name,
    from_category: name,
    to_category: name,
    trigger: sentence,
  }),
  graph_zoom_in: zoomPayload,
  graph_zoom_out: zoomPayload,
  graph_zoom_selective: zoomPayload,
  health_checked: z.strictObject({
    passed: nonNegativeInteger,
    failed: nonNegativeInteger,
    checks: z.array(openObject).max(1000).exactOptional(),
    recommended_actions: z.array(sentence).max(100).exactOptional(),
  }),
  ...runEventSchemas,
};
