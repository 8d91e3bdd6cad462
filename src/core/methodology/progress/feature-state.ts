import type { GapsSummary, MethodologySignal } from '../../contract/gaps.js';
import type {
  ChildState,
  ClaimSummary,
  ReleaseSummary,
  ReportedTimeBox,
} from '../../contract/methodology-views.js';
import type { StartBody } from '../../contract/start.js';
import type { EdgeStatus } from '../../contract/values.js';
import type { EvidencePolicyStatus } from '../../engine/evidence-policy.js';
import type { LastRun } from '../../engine/suspended-advice.js';
import type { EventEnvelope } from '../../events/envelope.js';
import type { Feature, Methodology } from '../definition/methodology.js';

/** The state of an edge since its last start. */
export const newEpisode = () => ({
  /** Delta of the last iteration; null before the first. */
  delta: null as number | null,
  /** The last 16 deltas, newest last; null for an iteration that reported none. */
  deltas: [] as (number | null)[],
  /** Consecutive failures per check. */
  failing: new Map<string, number>(),
  converged_at: null as string | null,
  /** Whether the edge converged without an earlier `edge_started`, as in foreign logs. */
  converged_unstarted: false,
  /** Whether the convergence was read from the log of another tool. */
  imported: false,
  /** Whether an iteration reported convergence, but there is no `edge_converged`. */
  has_unproven_convergence: false,
  convergence_type: null as string | null,
  /** Last reported counts: passed, failed, skipped, total. */
  evaluators: null as Readonly<Record<string, unknown>> | null,
});

export const newEdgeState = (edge: string, { timestamp, position }: EventEnvelope) => ({
  edge,
  status: 'iterating' as EdgeStatus,
  /** Last completed iteration; 0 before the first. */
  iteration: 0,
  ...newEpisode(),
  /** The spawned feature that blocks the edge until it folds back. */
  blocked_by: null as string | null,
  /** Reason of an operator's hold. */
  hold: null as string | null,
  started_at: null as string | null,
  agent_id: null as string | null,
  agent_role: null as string | null,
  context_hash: null as string | null,
  /** Why the last run of the engine handed the edge to a person; null if it did not. */
  escalation: null as string | null,
  /** The last run that was requested or started; null if there was none. */
  last_run: null as LastRun | null,
  /** The last review of a candidate by a person, until the edge converges or is reset. */
  review: null as EdgeReview | null,
  /** Time of the last event that was work on the edge: refusals and stale reports do not count. */
  last_at: timestamp,
  /** Log positions of the last start, the last event and the convergence. */
  positions: { started: null as number | null, last: position, converged: null as number | null },
});
export type EdgeState = ReturnType<typeof newEdgeState>;

export interface EdgeReview {
  readonly decision: string;
  readonly reviewer: string;
  /** The credential that pushed a review that was decided offline; null for other reviews. */
  readonly pushed_by: string | null;
  readonly comment: string | null;
  readonly at: string;
}

export const newFeatureState = (feature_id: string, { timestamp, position }: EventEnvelope) => ({
  feature_id,
  /** By canonical edge, in order of first mention. */
  edges: new Map<string, EdgeState>(),
  /** Children spawned from this feature, by id. */
  children: new Map<string, ChildState>(),
  parent: null as Feature['parent'],
  /** The next four fields are from the spawn event. The file of the feature, if there is one, takes precedence. */
  vector_type: null as string | null,
  profile: null as string | null,
  title: null as string | null,
  time_box: null as ReportedTimeBox | null,
  folded_back: null as 'converged' | 'time_box_expired' | null,
  last_event_at: timestamp,
  last_position: position,
});
export type FeatureState = ReturnType<typeof newFeatureState>;

/** A notice of a review that could not be delivered, not even by the last try. */
export interface FailedNotice {
  readonly generation: number;
  readonly iteration: number;
  readonly candidate_sha256: string;
  readonly host: string;
  readonly error: string;
}

/**
 * Progress of all features, folded from the log only. Events of this coordinator and events imported from other
 * Genesis tools are treated alike, by type, feature and edge.
 */
export const emptyMethodologyState = () => ({
  /** Position of the last event folded. */
  position: 0,
  last_updated: null as string | null,
  features: new Map<string, FeatureState>(),
  /** Items that need a person or a decision, oldest first: see `escalationsOf`. */
  signals: new Map<string, MethodologySignal>(),
  /** Notices of reviews that could not be delivered, the last one per subject. */
  failed_notices: new Map<string, FailedNotice>(),
  releases: [] as ReleaseSummary[],
  last_gaps: null as GapsSummary | null,
  /** Counts per type of unknown events and of lines that could not be converted. */
  unknown_types: new Map<string, number>(),
});
export type MethodologyState = ReturnType<typeof emptyMethodologyState>;

/** Current claim of an edge, from its head. */
export type EdgeClaim = Omit<ClaimSummary, 'feature_id' | 'edge'>;

/** A feature's definition and state combined: a row of every view, and the input of routing. */
export interface FeatureRow {
  readonly feature: Feature;
  /** False if the feature has no definition and is known only from its spawn in the log. */
  readonly is_defined: boolean;
  readonly state: FeatureState | null;
  /** By canonical edge. */
  readonly claims: ReadonlyMap<string, EdgeClaim>;
}

export interface RouteInput {
  /** Null if the project is not initialised. */
  readonly methodology: Methodology | null;
  readonly rows: readonly FeatureRow[];
  readonly state: MethodologyState;
  readonly now_ms: number;
  readonly evidence: EvidencePolicyStatus;
  /** Edges whose run has its decision from a person, and now waits for an executor to continue it. */
  readonly decided_edges?: ReadonlySet<string>;
  /** The caller, and the feature, edge or profile that it requests. */
  readonly request: Readonly<Omit<StartBody, 'dry_run' | 'request_id'>>;
}
