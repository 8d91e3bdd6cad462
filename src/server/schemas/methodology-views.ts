import { z } from 'zod';
import { type LogPosition, TRACE_DIRECTIONS, type TraceReply } from '../../coordinator/methodology/wire.js';
import { EXPIRY_ACTIONS } from '../../core/methodology/definition/methodology.js';
import { FEATURE_STATUSES } from '../../core/methodology/progress/project-progress.js';
import { WORKSPACE_STATES } from '../../core/methodology/routing/route.js';
import type { FeatureView } from '../../core/methodology/views/feature-view.js';
import type { HealthReport } from '../../core/methodology/views/health.js';
import type { FeatureSummary, MethodologyStatus } from '../../core/methodology/views/status.js';
import { BANDS, type ZoomView } from '../../core/methodology/views/zoom.js';
import { count, jsonRecord, registerSchema, time } from './common.js';
import {
  asOfFields,
  ESCALATION_KINDS,
  edgeStatus,
  escalation,
  gapsFound,
  severity,
  signal,
} from './methodology.js';

const text = z.string();
const stageMark = z.object({
  stage: text,
  edge: text,
  optional: z.boolean(),
  mark: z.enum(['✓', '●', '○', '✗']),
});
const featureLineFields = {
  id: text,
  feature_id: text,
  title: text,
  vector_type: text,
  profile: text,
  priority: text,
  requirements: z.array(text),
  status: z.enum(FEATURE_STATUSES),
  current_edge: text.nullable(),
  iteration: count,
  delta: z.number().nullable(),
  you_are_here: z.array(stageMark),
  edges_converged: count,
  edges_total: count,
  waits_for: text.nullable(),
  time_box: z.object({ status: text, elapsed: z.number().describe('the part of the time that is gone') }),
};
const featureLine = registerSchema<FeatureSummary>()('FeatureLine', z.object(featureLineFields));
const claimLine = z.object({
  feature_id: text,
  edge: text,
  agent_id: text,
  agent_role: text.nullable(),
  generation: count,
  state: z.enum(['held', 'stale', 'awaiting_human', 'lease_expired']),
  since: time,
});
const byStatus = z.object(
  Object.fromEntries(FEATURE_STATUSES.map((status) => [status, count])) as Record<
    (typeof FEATURE_STATUSES)[number],
    typeof count
  >,
);
const serviceHealth = z.object({ streams_lag_ms: z.literal(0), pending_reviews: count, stale_claims: count });
export const statusReply = registerSchema<MethodologyStatus>()(
  'MethodologyStatus',
  z.object({
    ...asOfFields,
    state: z.enum(WORKSPACE_STATES),
    start_would: z.object({
      feature: text.nullable(),
      edge: text.nullable(),
      iteration: count.nullable(),
      reasons: z.array(text),
      command: text,
    }),
    project: z.object({
      edges_completed: count,
      edges_remaining: count,
      edges_total: count,
      percent: count,
      active_features: count,
      features_by_status: byStatus,
    }),
    features: z.array(featureLine),
    signals: z.array(signal),
    coverage: z.array(
      z.object({
        stage: text,
        edge: text,
        converged: count,
        at_work: count,
        pending: count,
        blocked: count,
      }),
    ),
    claims: z.array(claimLine),
    pending_reviews: z.array(escalation),
    health: serviceHealth,
    last_gaps: gapsFound.nullable(),
    last_release: z.object({ at: time, version: text, features_included: count }).nullable(),
    next_actions: z.array(z.object({ says: text, command: text })),
  }),
);

const trajectoryLine = z.object({
  edge: text,
  optional: z.boolean(),
  status: edgeStatus,
  stuck: z.boolean(),
  iteration: count,
  delta: z.number().nullable(),
  deltas: z.array(z.number().nullable()),
  started_at: text.nullable(),
  converged_at: text.nullable(),
  convergence_type: text.nullable(),
  agent_id: text.nullable(),
  agent_role: text.nullable(),
  blocked_by: text.nullable(),
  hold: text.nullable(),
  context_hash: text.nullable(),
  evaluators: jsonRecord.nullable(),
  failing: z.array(z.object({ check: text, times_in_a_row: count })),
});
const reportedTimeBox = z.object({
  duration_seconds: z.number(),
  on_expiry: z.enum(EXPIRY_ACTIONS),
  started: text,
});
const effectiveTimeBox = reportedTimeBox.extend({
  check_in_seconds: z.number().nullable(),
  started: text.nullable(),
});
const foldedBack = z.enum(['converged', 'time_box_expired']).nullable();
export const featureReply = registerSchema<FeatureView & LogPosition>()(
  'Feature',
  z.object({
    ...featureLineFields,
    intent: text.nullable(),
    parent: z.object({ feature: text, edge: text.nullable(), reason: text }).nullable(),
    children: z.array(
      z.object({
        feature: text,
        vector_type: text,
        edge: text.nullable(),
        folded_back: foldedBack,
        payload_path: text.nullable(),
      }),
    ),
    trajectory: z.array(trajectoryLine),
    dependencies: z.array(z.object({ feature: text, asset: text.nullable(), status: text })),
    constraint_dimensions: z.array(z.object({ name: text, mandatory: z.boolean(), decided: z.boolean() })),
    time_box_rule: z.union([effectiveTimeBox, reportedTimeBox]).nullable(),
    context_hash: text.nullable(),
    last_event_at: text.nullable(),
    last_position: count.nullable(),
    ...asOfFields,
  }),
);

const FINDING_KINDS = [
  ...ESCALATION_KINDS,
  'failing_check',
  'lease_expired',
  'orphaned_spawn',
  'not_folded_back',
  'missing_vector',
  'unproven_convergence',
  'unstarted_convergence',
  'circular_dependency',
  'unknown_dependency',
  'unknown_profile',
  'time_box_expiring',
  'unknown_type',
  'constraint',
  'configuration',
] as const;
export const healthReply = registerSchema<HealthReport & LogPosition>()(
  'Health',
  z.object({
    healthy: z.boolean(),
    findings: z.array(
      z.object({
        kind: z.enum(FINDING_KINDS),
        severity,
        feature_id: text.nullable(),
        edge: text.nullable(),
        says: text,
        next: text.nullable(),
      }),
    ),
    counts: z.object({ features: count, pending_reviews: count, stale_claims: count, stuck: count }),
    health: serviceHealth,
    ...asOfFields,
  }),
);
export const ganttReply = z.object({ gantt: text.describe('a chart for Mermaid'), ...asOfFields });

const edgeView = z.object({
  edge: text,
  name: text,
  band: z.enum(BANDS),
  source: text,
  target: text,
  edge_type: z.enum(['standard', 'co_evolution']),
  evaluators: z.array(text),
  sub_steps: z.array(z.object({ name: text, type: text, criterion: text })),
  features: z.array(
    z.object({ feature_id: text, status: edgeStatus, iteration: count, delta: z.number().nullable() }),
  ),
  hint: text.nullable(),
});
export const zoomReply = registerSchema<ZoomView & LogPosition>()(
  'Zoom',
  z.object({
    bands: z.array(
      z.object({
        band: z.enum(BANDS),
        edges: z.array(text),
        converged: count,
        total: count,
        percent: count,
      }),
    ),
    edge: edgeView.nullable(),
    unknown_edge: text.nullable(),
    ...asOfFields,
  }),
);

const nullablePosition = count.nullable();
const traceStep = z.object({
  edge: text,
  stage: text,
  status: edgeStatus,
  started_at: text.nullable(),
  converged_at: text.nullable(),
  agent_id: text.nullable(),
  positions: z.object({ started: nullablePosition, last: nullablePosition, converged: nullablePosition }),
});
export const traceReply = registerSchema<TraceReply>()(
  'Trace',
  z.object({
    requirement: text,
    direction: z.enum(TRACE_DIRECTIONS),
    features: z.array(
      z.object({
        feature_id: text,
        title: text,
        intent: text.nullable(),
        status: z.enum(FEATURE_STATUSES),
        parent: text.nullable(),
        children: z.array(text),
        chain: z.array(traceStep),
      }),
    ),
    gaps: z.array(text),
    ...asOfFields,
  }),
);
