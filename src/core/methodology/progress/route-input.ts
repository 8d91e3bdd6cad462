import type { Methodology } from '../definition/methodology.js';
import type { FeatureRow, MethodologyState } from './feature-state.js';

export interface RouteInput {
  /** Null if the project is not initialised. */
  readonly methodology: Methodology | null;
  readonly rows: readonly FeatureRow[];
  readonly state: MethodologyState;
  readonly now_ms: number;
  /** The caller, and what it asks for explicitly. */
  readonly request: {
    readonly feature?: string;
    readonly edge?: string;
    readonly profile?: string;
    readonly agent_id?: string;
    readonly agent_role?: string;
  };
}
