import { z } from 'zod';
import { count, name, openObject, sentence } from './fields.js';
import { intentEventSchemas, zoomEventSchemas } from './intent-events.js';
import { healthEventSchemas, iterationEventSchemas } from './iteration-events.js';

const findings = z.array(z.unknown()).max(1000);
const path = z.string().max(1024);
const checkCounts = z.strictObject({
  passed: count,
  failed: count,
  skipped: count,
  total: count,
  details: z.array(openObject).max(1000).exactOptional(),
});

/**
 * Methodology events that are not part of a claim (seed 001). `edge_started`, `edge_converged` and `review_completed`
 * are edge events; `edge_claim` is a command and never in a log.
 */
export const methodologyEventSchemas = {
  project_initialized: z.strictObject({
    language: name.exactOptional(),
    tools_detected: z.array(name).max(100).exactOptional(),
    constraint_dimensions_configured: count.exactOptional(),
    asset_types: count.exactOptional(),
    transitions: count.exactOptional(),
    profile: name.exactOptional(),
  }),
  iteration_completed: z.strictObject({
    iteration: count,
    status: z.enum(['iterating', 'converged', 'blocked', 'time_box_expired', 'spawn_requested']),
    delta: count.exactOptional(),
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
    feature_count: count.exactOptional(),
    git_ref: name.exactOptional(),
    message: sentence.exactOptional(),
    snapshot_path: path.exactOptional(),
    /** The snapshot includes the log up to this position. */
    position: count.exactOptional(),
  }),
  gaps_validated: z.strictObject({
    layers_run: z.array(z.int().min(1).max(3)).max(3),
    feature: name.exactOptional(),
    total_req_keys: count,
    full_coverage: count,
    partial_coverage: count,
    no_coverage: count,
    test_gaps: count.exactOptional(),
    telemetry_gaps: count.exactOptional(),
    layer_results: z.record(name, name).exactOptional(),
  }),
  release_created: z.strictObject({
    version: name,
    features_included: count,
    coverage_pct: z.number().min(0).max(100).exactOptional(),
    known_gaps: count.exactOptional(),
    context_hash: name.exactOptional(),
    git_tag: name.exactOptional(),
  }),
  ...iterationEventSchemas,
  ...intentEventSchemas,
  ...zoomEventSchemas,
  ...healthEventSchemas,
};
