import { adviceFor, type FoldBackRefusal } from '../../contract/codes.js';
import type { FoldBackBody } from '../../contract/spawns.js';
import type { VectorType } from '../../contract/values.js';
import { isoTime } from '../../events/envelope.js';
import type { Feature, Methodology } from '../definition/methodology.js';
import type { FeatureProgress } from './feature-progress.js';
import type { FeatureRow, FeatureState } from './feature-state.js';

/** Exploratory features are done when their question is answered, whatever the state of their edges. */
const EXPLORATORY_TYPES: ReadonlySet<VectorType> = new Set(['discovery', 'spike', 'poc']);

/** Why a child cannot be folded back into its parent now; null if it can. */
export function foldBackRefusal(
  { row, isComplete, time_box }: FeatureProgress,
  request: Pick<FoldBackBody, 'fold_back_status' | 'question_answered'>,
): { readonly code: FoldBackRefusal; readonly says: string } | null {
  const { feature_id, vector_type } = row.feature;
  if (parentIdOf(row) === null) {
    return { code: 'NO_PARENT', says: `${feature_id} has no parent to fold back to.` };
  }
  if (row.state?.folded_back != null) return alreadyFoldedRefusal(feature_id);
  if (request.fold_back_status === 'time_box_expired') {
    if (time_box.status === 'expired') return null;
    return {
      code: 'TIME_BOX_RUNNING',
      says: `The time box of ${feature_id} has not expired. ${adviceFor('TIME_BOX_RUNNING')}`,
    };
  }
  if (isComplete) return null;
  if (request.question_answered && EXPLORATORY_TYPES.has(vector_type)) return null;
  const hint = EXPLORATORY_TYPES.has(vector_type) ? ', or pass question_answered' : '';
  return { code: 'NOT_CONVERGED', says: `${feature_id} has open edges. Converge them first${hint}.` };
}

export const alreadyFoldedRefusal = (featureId: string) => ({
  code: 'ALREADY_FOLDED_BACK' as const,
  says: `${featureId} is already folded back. ${adviceFor('ALREADY_FOLDED_BACK')}`,
});

export const parentIdOf = ({ feature, state }: FeatureRow): string | null =>
  feature.parent?.feature ?? state?.parent?.feature ?? null;

/** The edge of the parent that waits for this child and for no other child; null if there is none. */
export function edgeUnblockedBy(child: string, parent: FeatureState | undefined): string | null {
  if (parent === undefined) return null;
  const waitingEdge = [...parent.edges.values()].find(({ blocked_by }) => blocked_by === child);
  if (waitingEdge === undefined) return null;
  const hasOtherChildren = [...parent.children.values()].some(
    (other) => other.feature !== child && other.edge === waitingEdge.edge && other.folded_back === null,
  );
  return hasOtherChildren ? null : waitingEdge.edge;
}

/** The feature that follows a hotfix and implements the fix properly. */
export function remediationFeature(
  hotfix: Feature,
  feature_id: string,
  { default_profile }: Methodology,
  nowMs: number,
): Feature {
  const reason = `remediation of ${hotfix.feature_id}`;
  return {
    ...hotfix,
    feature_id,
    title: `Remediation: ${hotfix.title}`.slice(0, 200),
    vector_type: 'feature',
    profile: default_profile,
    created: isoTime(nowMs),
    time_box: null,
    parent: hotfix.parent === null ? null : { ...hotfix.parent, edge: null, reason },
    requirements: [feature_id],
    acceptance_criteria: [],
    threshold_overrides: {},
    additional_checks: [],
  };
}
