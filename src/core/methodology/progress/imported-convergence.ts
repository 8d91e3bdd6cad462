import { subjectKeys } from '../../subject.js';
import { edgeSubject } from '../definition/edge-name.js';
import type { FeatureProgress } from './feature-progress.js';
import type { EdgeState, MethodologyState } from './feature-state.js';

/** An edge that converged according to an imported log, and the position of that event. */
export interface ImportedConvergence {
  readonly subject: string;
  readonly position: number;
}

const isImportedConvergence = ({ status, imported }: EdgeState): boolean =>
  status === 'converged' && imported;

/** The convergences that imported logs report, without edges that were claimed here since. */
export function* importedConvergences({
  features,
}: Pick<MethodologyState, 'features'>): Generator<ImportedConvergence> {
  for (const { feature_id, edges } of features.values()) {
    for (const state of edges.values()) {
      const position = state.positions.converged;
      if (isImportedConvergence(state) && position !== null)
        yield { subject: edgeSubject(feature_id, state.edge), position };
    }
  }
}

/**
 * Warning to the claimer of an edge that has converged according to an imported log; null if no log says so. The claim is
 * granted, because an imported event only informs and decides nothing.
 */
export function importedConvergenceWarning(
  { features }: Pick<MethodologyState, 'features'>,
  subject: string,
): string | null {
  const { feature_id = '', edge = '' } = subjectKeys(subject);
  const state = features.get(feature_id)?.edges.get(edge);
  if (state === undefined || !isImportedConvergence(state)) return null;
  return `An imported log says that ${edge} of ${feature_id} converged at ${state.converged_at}. Check its result before you do the work again, or have an admin accept imported convergences: gen import --trust-imports.`;
}

/** Edges outside the profile of a feature that have converged. They are shown, but nothing requires them. */
export function convergedOffProfile({ row, steps }: Pick<FeatureProgress, 'row' | 'steps'>): string[] {
  const prescribed = new Set(steps.map(({ edge }) => edge));
  return [...(row.state?.edges.values() ?? [])]
    .filter(({ edge, status }) => status === 'converged' && !prescribed.has(edge))
    .map(({ edge }) => edge);
}
