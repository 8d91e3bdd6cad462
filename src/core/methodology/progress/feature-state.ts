import type { ExpiryAction, FeatureVector } from '../definition/methodology.js';

/**
 * Progress of all features, folded from the log only. Events of this coordinator and events imported from other tools
 * of this family are treated alike, by type, feature and edge.
 */
export interface MethodologyState {
  /** Position of the last event folded. */
  position: number;
  last_updated: string | null;
  initialized_at: string | null;
  readonly features: Map<string, FeatureState>;
  /** Items that need a human or a decision, oldest first: see `escalationsOf`. */
  readonly signals: Map<string, MethodologySignal>;
  readonly checkpoints: CheckpointSummary[];
  readonly releases: ReleaseSummary[];
  last_gaps: GapsSummary | null;
  /** Counts per type of unknown events and of lines that could not be converted. */
  readonly unknown_types: Map<string, number>;
}

export interface FeatureState {
  readonly feature_id: string;
  /** By canonical edge, in order of first mention. */
  readonly edges: Map<string, EdgeState>;
  /** Children spawned from this feature, by id. */
  readonly children: Map<string, ChildState>;
  parent: { readonly feature: string; readonly edge: string | null; readonly reason: string } | null;
  /** From the spawn event; the vector's file may have more. */
  vector_type: string | null;
  profile: string | null;
  title: string | null;
  time_box: {
    readonly duration_seconds: number;
    readonly started: string;
    readonly on_expiry: ExpiryAction;
  } | null;
  folded_back: 'converged' | 'time_box_expired' | null;
  last_event_at: string;
  last_position: number;
}

export type EdgeStatus = 'iterating' | 'converged' | 'blocked' | 'pending_review';

export interface EdgeState {
  readonly edge: string;
  status: EdgeStatus;
  /** Last completed iteration; 0 before the first. */
  iteration: number;
  /** Delta of the last iteration; null before the first. */
  delta: number | null;
  /** Deltas since the edge was last started, newest last, null if none was reported; at most 16 are kept. */
  deltas: (number | null)[];
  /** Consecutive failures per check. */
  readonly failing: Map<string, number>;
  /** The child that blocks the edge. */
  blocked_by: string | null;
  /** Reason of an operator's hold. */
  hold: string | null;
  started_at: string | null;
  converged_at: string | null;
  /** Converged without an earlier `edge_started`, as in foreign logs. */
  started_unseen: boolean;
  /** An iteration reported convergence, but there is no `edge_converged`. */
  unproven: boolean;
  agent_id: string | null;
  agent_role: string | null;
  generation: number | null;
  context_hash: string | null;
  convergence_type: string | null;
  /** Last reported counts: passed, failed, skipped, total. */
  evaluators: Readonly<Record<string, unknown>> | null;
  /** Time of the last event that was work on the edge: refusals and stale reports do not count. */
  last_at: string;
  /** Last human review of a candidate, until the edge converges. */
  review: {
    readonly decision: string;
    readonly reviewer: string;
    readonly comment: string | null;
    readonly at: string;
  } | null;
  /** Log positions of the last start, the last event and the convergence. */
  readonly positions: { started: number | null; last: number; converged: number | null };
}

export interface ChildState {
  readonly feature: string;
  readonly vector_type: string;
  readonly edge: string | null;
  folded_back: 'converged' | 'time_box_expired' | null;
  payload_path: string | null;
}

/** An unresolved `intent_raised`, `convergence_escalated` or `claim_expired`. */
export interface MethodologySignal {
  readonly id: string;
  readonly kind: 'intent' | 'escalation' | 'stale_claim';
  readonly at: string;
  readonly position: number;
  readonly feature_id: string | null;
  readonly edge: string | null;
  readonly severity: 'critical' | 'high' | 'medium' | 'low';
  readonly says: string;
}

export interface CheckpointSummary {
  readonly at: string;
  readonly position: number;
  readonly context_hash: string;
  readonly message: string | null;
  readonly snapshot_path: string | null;
}

export interface ReleaseSummary {
  readonly at: string;
  readonly version: string;
  readonly features_included: number;
}

export interface GapsSummary {
  readonly at: string;
  readonly total_req_keys: number;
  readonly full_coverage: number;
  readonly no_coverage: number;
}

export const emptyMethodologyState = (): MethodologyState => ({
  position: 0,
  last_updated: null,
  initialized_at: null,
  features: new Map(),
  signals: new Map(),
  checkpoints: [],
  releases: [],
  last_gaps: null,
  unknown_types: new Map(),
});

/** Current claim of an edge, from its head. */
export interface EdgeClaim {
  readonly agent_id: string;
  readonly agent_role: string | null;
  readonly generation: number;
  readonly state: 'held' | 'stale' | 'awaiting_human' | 'lease_expired';
  readonly since: string;
}

/** A feature's definition and state combined: a row of every view, and the input of routing. */
export interface FeatureRow {
  readonly vector: FeatureVector;
  /** False if the feature has no definition and is known only from its spawn in the log. */
  readonly defined: boolean;
  readonly state: FeatureState | null;
  /** By canonical edge. */
  readonly claims: ReadonlyMap<string, EdgeClaim>;
}
