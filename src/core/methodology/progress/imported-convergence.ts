import { subjectKeys } from '../../subject.js';
import type { FeatureProgress } from './feature-progress.js';
import type { MethodologyState } from './feature-state.js';

/**
 * Warning for whoever claims an edge that an imported log says has converged; null if no log says so. The claim is
 * granted: what another tool wrote is shown, but it decides nothing.
 */
export function importedConvergenceWarning(
  { features }: Pick<MethodologyState, 'features'>,
  subject: string,
): string | null {
  const { feature_id = '', edge = '' } = subjectKeys(subject);
  const state = features.get(feature_id)?.edges.get(edge);
  if (state === undefined || state.status !== 'converged' || !state.imported) return null;
  return `An imported log says that ${edge} of ${feature_id} converged at ${state.converged_at}. Check its result before you do the work again.`;
}

/** Edges outside the profile of a feature that have converged. They are shown, but nothing requires them. */
export function convergedOffProfile({ row, steps }: Pick<FeatureProgress, 'row' | 'steps'>): string[] {
  const prescribed = new Set(steps.map(({ edge }) => edge));
  return [...(row.state?.edges.values() ?? [])]
    .filter(({ edge, status }) => status === 'converged' && !prescribed.has(edge))
    .map(({ edge }) => edge);
}
