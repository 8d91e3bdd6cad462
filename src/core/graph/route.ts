import type { FeatureRow, MethodologyState } from '../features/feature-state.js';
import type { Methodology } from './methodology.js';

/** The eight states a workspace can be in; derived anew each time, never stored. The first that fits stands. */
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

export interface RouteInput {
  /** Null: nobody has initialised the project. */
  readonly methodology: Methodology | null;
  readonly rows: readonly FeatureRow[];
  readonly state: MethodologyState;
  readonly now_ms: number;
  /** What the caller insists on, and who it is. */
  readonly request: {
    readonly feature?: string;
    readonly edge?: string;
    readonly profile?: string;
    readonly agent_id?: string;
    readonly agent_role?: string;
  };
}

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
  /** The command that settles it. */
  readonly next: string;
}

/** Another feature at work now, and what both touch. */
export interface OverlappingWork {
  readonly feature_id: string;
  readonly edge: string;
  readonly agent_id: string;
  /** How many modules both touch; null: unknown, and nobody may call that free. */
  readonly inner_product: number | null;
  readonly shared_modules: readonly string[];
  readonly says: string;
}

/** Where to go next, and why. Advice: only a claim decides. */
export interface RouteAdvice {
  readonly state: WorkspaceState;
  readonly feature: string | null;
  readonly edge: string | null;
  /** The iteration that would begin. */
  readonly iteration: number | null;
  /** One sentence each, in the order of thought. */
  readonly reasons: readonly string[];
  readonly skipped: readonly {
    readonly feature: string;
    readonly edge: string | null;
    readonly says: string;
  }[];
  /** Pending first of all: what waits for a human. */
  readonly escalations: readonly Escalation[];
  readonly parallel: readonly OverlappingWork[];
  /** Set where what was asked for cannot be, or `enforce` forbids it. */
  readonly refused: string | null;
  /** What to do now, as a command. */
  readonly next: string;
}
