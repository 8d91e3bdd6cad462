import type { Methodology, VectorType } from '../graph/methodology.js';
import type { EdgeStatus, FeatureRow } from './feature-state.js';
import { edgesInOrder, type FeatureProgress, progressOf } from './progress.js';

export interface FeatureSnapshot {
  readonly feature_id: string;
  readonly title: string;
  readonly vector_type: VectorType;
  readonly profile: string;
  readonly status: FeatureProgress;
  readonly edges: readonly {
    readonly edge: string;
    readonly status: EdgeStatus | 'pending';
    readonly iteration: number;
    readonly delta: number | null;
    readonly converged_at: string | null;
  }[];
}

/** How far a feature is, in a form that is kept. */
export function snapshotOf(row: FeatureRow, methodology: Methodology): FeatureSnapshot {
  const { feature_id, title, vector_type, profile } = row.vector;
  const edges = edgesInOrder(row, methodology).map(({ edge, status }) => {
    const known = row.state?.edges.get(edge);
    const { iteration = 0, delta = null, converged_at = null } = known ?? {};
    return { edge, status, iteration, delta, converged_at };
  });
  return { feature_id, title, vector_type, profile, status: progressOf(row, methodology), edges };
}
