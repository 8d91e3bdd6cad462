import { z } from 'zod';
import { costSchema } from '../engine/check-outcome.js';
import { agentIdSchema } from '../ids.js';
import { budgetSchema } from '../methodology/definition/engine-settings.js';
import { evidencePolicyStatus } from './checks.js';
import { gapsSummary, methodologySignal } from './gaps.js';
import { methodologyView } from './methodology.js';
import { edgeName, edgeStatus, featureId, severity } from './methodology-fields.js';
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

const text = z.string();

// Status of all features

/** One stage of a feature. An edge of type `co_evolution`, whose two assets develop together, is one stage. */
const trackStop = z.object({
  stage: text,
  edge: text,
  optional: z.boolean(),
  /** In this order: converged, in work, pending, blocked. */
  mark: z.enum(['✓', '●', '○', '✗']),
  started_at: text.nullable(),
  converged_at: text.nullable(),
});
const childState = z.object({
  feature: text,
  vector_type: text,
  edge: text.nullable(),
  folded_back: z.enum(['converged', 'time_box_expired']).nullable(),
  payload_path: text.nullable(),
});
const featureFields = {
  /** Same as feature_id, under the name that the other Genesis tools read. */
  id: text,
  feature_id: text,
  title: text,
  vector_type: text,
  profile: text,
  priority: text,
  /** Requirement keys that the feature delivers. */
  requirements: z.array(text),
  status: z.enum(FEATURE_STATUSES),
  current_edge: text.nullable(),
  /** Completed iterations on the current edge, and its last delta. */
  iteration: count,
  delta: z.number().nullable(),
  you_are_here: z.array(trackStop),
  edges_converged: count,
  edges_total: count,
  /** Converged edges that the profile does not include. Only an imported log can have them. */
  off_profile: z.array(text),
  /** Why the feature cannot continue; null if it can. */
  waits_for: text.nullable(),
  parent: z.object({ feature: text, edge: text.nullable(), reason: text }).nullable(),
  children: z.array(childState),
  dependencies: z.array(z.object({ feature: text, asset: text.nullable(), status: text })),
  time_box: z.object({ status: text, elapsed: z.number().describe('elapsed part of the time box') }),
};
const featureSummary = withName('FeatureSummary', z.object(featureFields));
const claimSummary = z.object({
  feature_id: text,
  edge: text,
  agent_id: text,
  agent_role: text.nullable(),
  generation: count,
  state: z.enum(['held', 'stale', 'awaiting_human', 'suspended', 'lease_expired']),
  since: time,
});
const stageCoverage = z.object({
  stage: text,
  edge: text,
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
const releaseSummary = z.object({ at: time, version: text, features_included: count });
const nextAction = z.object({ says: text, command: text });
const methodologyStatus = withName(
  'MethodologyStatus',
  z.object({
    ...positionFields,
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
export type TrackStop = ReplyOf<typeof trackStop>;
export type StatusMark = TrackStop['mark'];
export type FeatureSummary = ReplyOf<typeof featureSummary>;
export type ClaimSummary = ReplyOf<typeof claimSummary>;
export type StageCoverage = ReplyOf<typeof stageCoverage>;
export type ServiceHealth = ReplyOf<typeof serviceHealth>;
export type ReleaseSummary = ReplyOf<typeof releaseSummary>;
export type NextAction = ReplyOf<typeof nextAction>;
export type MethodologyStatus = ReplyOf<typeof methodologyStatus>;

// One feature

const trajectoryEntry = z.object({
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
  /** The convergence was read from the log of another tool. */
  imported: z.boolean(),
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
const featureView = z.object({
  ...featureFields,
  intent: text.nullable(),
  trajectory: z.array(trajectoryEntry),
  constraint_dimensions: z.array(z.object({ name: text, mandatory: z.boolean(), decided: z.boolean() })),
  time_box_rule: z.union([effectiveTimeBox, reportedTimeBox]).nullable(),
  context_hash: text.nullable(),
  last_event_at: text.nullable(),
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
  feature_id: text.nullable(),
  edge: text.nullable(),
  says: text,
  /** The command that resolves the finding, if there is one. */
  next: text.nullable(),
});
const healthReport = z.object({
  healthy: z.boolean(),
  position: count,
  findings: z.array(healthFinding),
  counts: z.object({ features: count, pending_reviews: count, stale_claims: count, stuck: count }),
  health: serviceHealth,
  /** The cost of runs of the iterate engine. */
  spent: z.object({ features: z.record(text, costSchema), project: costSchema }),
  /** The budget in engine.yml; null if there is none. */
  budget: budgetSchema.nullable(),
});
const healthReply = withName('Health', healthReport.extend(positionFields));
const ganttReply = z.object({
  gantt: text.describe('Gantt chart in Mermaid syntax'),
  ...positionFields,
});
export type HealthFinding = ReplyOf<typeof healthFinding>;
export type HealthReport = ReplyOf<typeof healthReport>;

// The graph of edges

const bandView = z.object({
  band: z.enum(BANDS),
  edges: z.array(text),
  converged: count,
  total: count,
  percent: count,
});
/** Details of one edge: its evaluators, its sub-steps and the features on it. */
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
const zoomView = z.object({
  bands: z.array(bandView),
  edge: edgeView.nullable(),
  /** Set if the requested edge is not in the topology. */
  unknown_edge: text.nullable(),
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
  edge: text,
  stage: text,
  status: edgeStatus,
  started_at: text.nullable(),
  converged_at: text.nullable(),
  agent_id: text.nullable(),
  positions: z.object({
    started: count.nullable(),
    last: count.nullable(),
    converged: count.nullable(),
  }),
});
const tracedFeature = z.object({
  feature_id: text,
  title: text,
  intent: text.nullable(),
  status: z.enum(FEATURE_STATUSES),
  parent: text.nullable(),
  children: z.array(text),
  /** In the order of work, along the feature's profile. */
  chain: z.array(traceStep),
});
const requirementTrace = z.object({
  requirement: text,
  features: z.array(tracedFeature),
  gaps: z.array(text),
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
