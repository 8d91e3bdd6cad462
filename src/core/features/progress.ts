import type { Methodology } from '../graph/methodology.js';
import { edgesOf } from '../graph/profile.js';
import type { EdgeStatus, FeatureRow } from './feature-state.js';

export interface EdgeProgress {
  readonly edge: string;
  readonly optional: boolean;
  readonly status: EdgeStatus | 'pending';
}

/** The edges of a feature in the order of work, as far as each is. */
export function edgesInOrder({ vector, state }: FeatureRow, methodology: Methodology): EdgeProgress[] {
  const profile = methodology.profiles[vector.profile] ?? methodology.profiles[methodology.default_profile];
  if (profile === undefined) return [];
  return edgesOf(profile, methodology.topology).map(({ edge, optional }) => ({
    edge,
    optional,
    status: state?.edges.get(edge)?.status ?? 'pending',
  }));
}

export type FeatureProgress = 'pending' | 'in_progress' | 'blocked' | 'converged';

/** A spawn whose answer was folded back is done, whatever its edges say. */
export function progressOf(row: FeatureRow, methodology: Methodology): FeatureProgress {
  if (row.state === null) return 'pending';
  if (row.state.folded_back !== null) return 'converged';
  const needed = edgesInOrder(row, methodology).filter(({ optional }) => !optional);
  if (needed.length > 0 && needed.every(({ status }) => status === 'converged')) return 'converged';
  if ([...row.state.edges.values()].some(({ status }) => status === 'blocked')) return 'blocked';
  return row.state.edges.size === 0 ? 'pending' : 'in_progress';
}
