import type { ExpiryAction, FeatureVector } from '../graph/methodology.js';

/**
 * How far the features are, folded from the log and from nothing else. Events of this coordinator and events imported
 * from other tools of the family are folded alike, by type, feature and edge.
 */
export interface MethodologyState {
  /** The last event folded. */
  position: number;
  last_updated: string | null;
  initialized_at: string | null;
  readonly features: Map<string, FeatureState>;
  /** What asks for a human or for a decision, oldest first: see `escalations`. */
  readonly signals: Map<string, MethodologySignal>;
  readonly checkpoints: CheckpointSummary[];
  readonly releases: ReleaseSummary[];
  last_gaps: GapsSummary | null;
  /** Lines that a reader could place nowhere, and types it does not know, by name. */
  readonly unknown_types: Map<string, number>;
}

export interface FeatureState {
  readonly feature_id: string;
  /** By canonical edge, in the order of first mention. */
  readonly edges: Map<string, EdgeState>;
  /** Spawned from here, by child. */
  readonly children: Map<string, ChildState>;
  parent: { readonly feature: string; readonly edge: string | null; readonly reason: string } | null;
  /** As the spawn said it; a vector's file may say more. */
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
  /** The last one completed; 0 before the first. */
  iteration: number;
  /** Of the last iteration; null before the first. */
  delta: number | null;
  /** Of the iterations since the edge was last started, newest last, null where none was told; at most 16 are kept. */
  deltas: (number | null)[];
  /** How often in a row each check has failed. */
  readonly failing: Map<string, number>;
  /** The child it waits for. */
  blocked_by: string | null;
  /** Why an operator keeps it from everybody. */
  hold: string | null;
  started_at: string | null;
  converged_at: string | null;
  /** Converged without an `edge_started` before it, as foreign logs have it. */
  started_unseen: boolean;
  /** An iteration called itself converged, and no `edge_converged` says so. */
  unproven: boolean;
  agent_id: string | null;
  agent_role: string | null;
  generation: number | null;
  context_hash: string | null;
  convergence_type: string | null;
  /** The last told: passed, failed, skipped, total. */
  evaluators: Readonly<Record<string, unknown>> | null;
  /** Its last event that was somebody's work on it: a refusal or a silence noticed is none. */
  last_at: string;
  /** The last word of a human on a candidate of it, until it converges. */
  review: {
    readonly decision: string;
    readonly reviewer: string;
    readonly comment: string | null;
    readonly at: string;
  } | null;
  /** Where in the log to look: the last start, the last event, the convergence. */
  readonly positions: { started: number | null; last: number; converged: number | null };
}

export interface ChildState {
  readonly feature: string;
  readonly vector_type: string;
  readonly edge: string | null;
  folded_back: 'converged' | 'time_box_expired' | null;
  payload_path: string | null;
}

/** An `intent_raised`, a `convergence_escalated` or a `claim_expired` that nobody has acted on yet. */
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

/** Who holds an edge now, as its head says. */
export interface EdgeClaim {
  readonly agent_id: string;
  readonly agent_role: string | null;
  readonly generation: number;
  readonly state: 'held' | 'stale' | 'awaiting_human' | 'lease_expired';
  readonly since: string;
}

/** A definition and a state, put together: one row of every view, and what routing chooses from. */
export interface FeatureRow {
  readonly vector: FeatureVector;
  /** False: nobody has defined it, and its spawn in the log is all there is. */
  readonly defined: boolean;
  readonly state: FeatureState | null;
  /** By canonical edge. */
  readonly claims: ReadonlyMap<string, EdgeClaim>;
}
