import { z } from 'zod';
import { costSchema } from '../engine/check-outcome.js';
import { agentIdSchema } from '../ids.js';
import { budgetSchema } from '../methodology/definition/engine-settings.js';
import { evidencePolicyStatus } from './checks.js';
import { gapsSummary, methodologySignal } from './gaps.js';
import { methodologyView } from './methodology.js';
import { anyText, edgeName, edgeStatus, featureId, severity } from './methodology-fields.js';
import type { ApiOperations } from './operation.js';
import {
  type AtQuery,
  atField,
  count,
  jsonRecord,
  positionFields,
  type ReplyOf,
  time,
  withName,
} from './schema.js';
import { ESCALATION_KINDS, escalation } from './start.js';
import { BANDS, EXPIRY_ACTIONS, FEATURE_STATUSES, WORKSPACE_STATES } from './values.js';

// Status of all features

/** One stage of a feature. An edge of type `co_evolution`, whose two assets develop together, is one stage. */
const featureStage = z.object({
  stage: anyText,
  edge: anyText,
  optional: z.boolean(),
  /** In this order: converged, in work, pending, blocked. */
  mark: z.enum(['✓', '●', '○', '✗']),
  started_at: anyText.nullable(),
  converged_at: anyText.nullable(),
});
const childState = z.object({
  feature: anyText,
  vector_type: anyText,
  edge: anyText.nullable(),
  folded_back: z.enum(['converged', 'time_box_expired']).nullable(),
  payload_path: anyText.nullable(),
});
const featureFields = {
  /** Same as feature_id, under the name that the other Genesis tools read. */
  id: anyText,
  feature_id: anyText,
  title: anyText,
  vector_type: anyText,
  profile: anyText,
  priority: anyText,
  /** Requirement keys that the feature delivers. */
  requirements: z.array(anyText),
  status: z.enum(FEATURE_STATUSES),
  current_edge: anyText.nullable(),
  /** Completed iterations on the current edge, and its last delta. */
  iteration: count,
  delta: z.number().nullable(),
  you_are_here: z.array(featureStage),
  edges_converged: count,
  edges_total: count,
  /** Converged edges that the profile does not include, for example from an imported log or under an earlier profile. */
  off_profile: z.array(anyText),
  /** Why the feature cannot continue; null if it can. */
  waits_for: anyText.nullable(),
  parent: z.object({ feature: anyText, edge: anyText.nullable(), reason: anyText }).nullable(),
  children: z.array(childState),
  dependencies: z.array(z.object({ feature: anyText, asset: anyText.nullable(), status: anyText })),
  time_box: z.object({ status: anyText, elapsed: z.number().describe('elapsed part of the time box') }),
};
const featureSummary = withName('FeatureSummary', z.object(featureFields));
const claimSummary = z.object({
  feature_id: anyText,
  edge: anyText,
  agent_id: anyText,
  agent_role: anyText.nullable(),
  generation: count,
  state: z.enum(['held', 'stale', 'awaiting_human', 'suspended', 'lease_expired']),
  since: time,
});
const stageCoverage = z.object({
  stage: anyText,
  edge: anyText,
  converged: count,
  at_work: count,
  pending: count,
  blocked: count,
});
/** Health fields that the other Genesis tools expect of every service. */
const serviceHealth = z.object({
  /** Always 0: views are computed directly from the log, so no stream can lag. */
  streams_lag_ms: z.literal(0),
  pending_reviews: count,
  stale_claims: count,
});
const releaseSummary = z.object({ at: time, version: anyText, features_included: count });
const nextAction = z.object({ says: anyText, command: anyText });
const methodologyStatus = withName(
  'MethodologyStatus',
  z.object({
    ...positionFields,
    state: z.enum(WORKSPACE_STATES),
    start_would: z.object({
      feature: anyText.nullable(),
      edge: anyText.nullable(),
      iteration: count.nullable(),
      reasons: z.array(anyText),
      command: anyText,
    }),
    project: z.object({
      edges_completed: count,
      edges_remaining: count,
      edges_total: count,
      percent: count,
      active_features: count,
      features_by_status: z.record(z.enum(FEATURE_STATUSES), count),
    }),
    features: z.array(featureSummary),
    signals: z.array(methodologySignal),
    coverage: z.array(stageCoverage),
    claims: z.array(claimSummary),
    pending_reviews: z.array(escalation),
    health: serviceHealth,
    evidence: evidencePolicyStatus,
    last_gaps: gapsSummary.nullable(),
    last_release: releaseSummary.nullable(),
    next_actions: z.array(nextAction),
  }),
);
export type FeatureStage = ReplyOf<typeof featureStage>;
/** The earlier name of `FeatureStage`, for programs that import it. */
export type TrackStop = FeatureStage;
export type StatusMark = FeatureStage['mark'];
export type FeatureSummary = ReplyOf<typeof featureSummary>;
export type ClaimSummary = ReplyOf<typeof claimSummary>;
export type StageCoverage = ReplyOf<typeof stageCoverage>;
export type ServiceHealth = ReplyOf<typeof serviceHealth>;
export type ReleaseSummary = ReplyOf<typeof releaseSummary>;
export type NextAction = ReplyOf<typeof nextAction>;
export type MethodologyStatus = ReplyOf<typeof methodologyStatus>;

// One feature

const trajectoryEntry = z.object({
  edge: anyText,
  optional: z.boolean(),
  status: edgeStatus,
  stuck: z.boolean(),
  iteration: count,
  delta: z.number().nullable(),
  deltas: z.array(z.number().nullable()),
  started_at: anyText.nullable(),
  converged_at: anyText.nullable(),
  convergence_type: anyText.nullable(),
  /** The convergence was read from the log of another tool. */
  imported: z.boolean(),
  agent_id: anyText.nullable(),
  agent_role: anyText.nullable(),
  blocked_by: anyText.nullable(),
  hold: anyText.nullable(),
  context_hash: anyText.nullable(),
  evaluators: jsonRecord.nullable(),
  failing: z.array(z.object({ check: anyText, times_in_a_row: count })),
});
const reportedTimeBox = z.object({
  duration_seconds: z.number(),
  on_expiry: z.enum(EXPIRY_ACTIONS),
  started: anyText,
});
const effectiveTimeBox = reportedTimeBox.extend({
  check_in_seconds: z.number().nullable(),
  started: anyText.nullable(),
});
const featureView = z.object({
  ...featureFields,
  intent: anyText.nullable(),
  trajectory: z.array(trajectoryEntry),
  constraint_dimensions: z.array(z.object({ name: anyText, mandatory: z.boolean(), decided: z.boolean() })),
  time_box_rule: z.union([effectiveTimeBox, reportedTimeBox]).nullable(),
  context_hash: anyText.nullable(),
  last_event_at: anyText.nullable(),
  last_position: count.nullable(),
});
const featureReply = withName('Feature', featureView.extend(positionFields));
export type ReportedTimeBox = ReplyOf<typeof reportedTimeBox>;
export type TrajectoryEntry = ReplyOf<typeof trajectoryEntry>;
/** Mutable, because the fold of the log updates it. */
export type ChildState = z.output<typeof childState>;
export type FeatureView = ReplyOf<typeof featureView>;

// Health

const healthFinding = z.object({
  kind: z.enum([
    ...ESCALATION_KINDS,
    'failing_check',
    'review_notice',
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
  ]),
  severity,
  feature_id: anyText.nullable(),
  edge: anyText.nullable(),
  says: anyText,
  /** The command that resolves the finding, if there is one. */
  next: anyText.nullable(),
});
const healthReport = z.object({
  healthy: z.boolean(),
  position: count,
  findings: z.array(healthFinding),
  counts: z.object({ features: count, pending_reviews: count, stale_claims: count, stuck: count }),
  health: serviceHealth,
  /** The cost of runs of the iterate engine. */
  spent: z.object({ features: z.record(anyText, costSchema), project: costSchema }),
  /** The budget in engine.yml; null if there is none. */
  budget: budgetSchema.nullable(),
});
const healthReply = withName('Health', healthReport.extend(positionFields));
const ganttReply = z.object({
  gantt: anyText.describe('Gantt chart in Mermaid syntax'),
  ...positionFields,
});
export type HealthFinding = ReplyOf<typeof healthFinding>;
export type HealthReport = ReplyOf<typeof healthReport>;

// The graph of edges

const bandView = z.object({
  band: z.enum(BANDS),
  edges: z.array(anyText),
  converged: count,
  total: count,
  percent: count,
});
/** Details of one edge: its evaluators, its sub-steps and the features on it. */
const edgeView = z.object({
  edge: anyText,
  name: anyText,
  band: z.enum(BANDS),
  source: anyText,
  target: anyText,
  edge_type: z.enum(['standard', 'co_evolution']),
  evaluators: z.array(anyText),
  sub_steps: z.array(z.object({ name: anyText, type: anyText, criterion: anyText })),
  features: z.array(
    z.object({ feature_id: anyText, status: edgeStatus, iteration: count, delta: z.number().nullable() }),
  ),
  hint: anyText.nullable(),
});
const zoomView = z.object({
  bands: z.array(bandView),
  edge: edgeView.nullable(),
  /** Set if the requested edge is not in the topology. */
  unknown_edge: anyText.nullable(),
});
const zoomReply = withName('Zoom', zoomView.extend(positionFields));
/** Selects one edge, or the whole graph if `edge` is omitted, for one feature or for all. */
export const zoomBody = z.strictObject({
  edge: edgeName.optional(),
  feature: featureId.optional(),
  ...atField,
});
export type BandView = ReplyOf<typeof bandView>;
export type EdgeView = ReplyOf<typeof edgeView>;
export type ZoomView = ReplyOf<typeof zoomView>;
export type ZoomBody = z.output<typeof zoomBody>;

// Traces

const TRACE_DIRECTIONS = ['forward', 'backward', 'both'] as const;
/** A requirement key or a feature id. Features can have any id, so this is more permissive than a requirement key. */
const tracedId = z
  .string()
  .max(256, { abort: true })
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, { error: 'expected a requirement key or a feature id' });
export const traceBody = z.strictObject({
  req: tracedId,
  direction: z.enum(TRACE_DIRECTIONS).default('both'),
  ...atField,
});
const traceStep = z.object({
  edge: anyText,
  stage: anyText,
  status: edgeStatus,
  started_at: anyText.nullable(),
  converged_at: anyText.nullable(),
  agent_id: anyText.nullable(),
  positions: z.object({
    started: count.nullable(),
    last: count.nullable(),
    converged: count.nullable(),
  }),
});
const tracedFeature = z.object({
  feature_id: anyText,
  title: anyText,
  intent: anyText.nullable(),
  status: z.enum(FEATURE_STATUSES),
  parent: anyText.nullable(),
  children: z.array(anyText),
  /** In the order of work, along the feature's profile. */
  chain: z.array(traceStep),
});
const requirementTrace = z.object({
  requirement: anyText,
  features: z.array(tracedFeature),
  gaps: z.array(anyText),
});
/** Backward: the intents and parents that a requirement comes from. Forward: the edges and children that follow. */
const traceReply = withName(
  'Trace',
  requirementTrace.extend({ direction: z.enum(TRACE_DIRECTIONS), ...positionFields }),
);
export type TraceBody = Omit<z.input<typeof traceBody>, 'at'> & AtQuery;
export type TraceStep = ReplyOf<typeof traceStep>;
export type TracedFeature = ReplyOf<typeof tracedFeature>;
export type RequirementTrace = ReplyOf<typeof requirementTrace>;
export type TraceReply = ReplyOf<typeof traceReply>;

// Operations

export const featureBody = z.strictObject({ feature: featureId, ...atField });
const booleanText = z.enum(['true', 'false']).exactOptional();
const statusQuery = z.strictObject({
  feature: featureId.exactOptional(),
  health: booleanText.describe('return the health of the project instead of its progress'),
  gantt: booleanText.describe('return a Gantt chart in Mermaid syntax instead of the progress'),
  agent_id: agentIdSchema
    .exactOptional()
    .describe('the agent whose next step is shown; if it holds a claim, the next step continues that claim'),
  ...atField,
});

export const methodologyViewOperations = {
  methodology_status: methodologyView(
    '/api/status',
    'Get the progress of all features or one, their health, or a Gantt chart',
    statusQuery,
    z.union([methodologyStatus, featureReply, healthReply, ganttReply]),
  ),
  zoom: methodologyView(
    '/api/zoom',
    'Get the details of an edge: its checks, and the progress of each feature on it',
    zoomBody,
    zoomReply,
  ),
  trace: methodologyView(
    '/api/trace',
    'Trace a requirement from its intent to its artifacts',
    traceBody,
    traceReply,
  ),
} as const satisfies ApiOperations;
