/** States of a workspace, in order of precedence: the first that applies. Always derived, never stored. */
export const WORKSPACE_STATES = [
  'UNINITIALISED',
  'NEEDS_CONSTRAINTS',
  'NEEDS_INTENT',
  'NO_FEATURES',
  'STUCK',
  'ALL_BLOCKED',
  'IN_PROGRESS',
  'ALL_CONVERGED',
] as const;
export type WorkspaceState = (typeof WORKSPACE_STATES)[number];

export interface Escalation {
  readonly kind:
    | 'review'
    | 'escalation'
    | 'hold'
    | 'intent'
    | 'stuck'
    | 'stale_claim'
    | 'time_box'
    | 'max_iterations';
  readonly feature_id: string | null;
  readonly edge: string | null;
  readonly severity: 'critical' | 'high' | 'medium' | 'low';
  readonly since: string;
  readonly says: string;
  /** The command that resolves it. */
  readonly next: string;
}

/** Another feature in work, and the modules that both touch. */
export interface OverlappingWork {
  readonly feature_id: string;
  readonly edge: string;
  readonly agent_id: string;
  /** Number of modules that both touch; null if unknown, which does not mean none. */
  readonly inner_product: number | null;
  readonly shared_modules: readonly string[];
  readonly says: string;
}

/** Advice on what to do next, with reasons. Not binding: only a claim decides. */
export interface RouteAdvice {
  readonly state: WorkspaceState;
  readonly feature: string | null;
  readonly edge: string | null;
  /** The iteration that would start. */
  readonly iteration: number | null;
  /** One sentence each, in the order of the decision. */
  readonly reasons: readonly string[];
  readonly skipped: readonly {
    readonly feature: string;
    readonly edge: string | null;
    readonly says: string;
  }[];
  /** Items that wait for a human; these come first. */
  readonly escalations: readonly Escalation[];
  readonly parallel: readonly OverlappingWork[];
  /** Set if the request cannot be met, or if `enforce` forbids it. */
  readonly refused: string | null;
  /** The next action, as a command. */
  readonly next: string;
}
