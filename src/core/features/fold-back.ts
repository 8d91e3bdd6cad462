import { isoTime } from '../events/envelope.js';
import type { FeatureVector, Methodology, VectorType } from '../graph/methodology.js';
import type { FeatureRow, FeatureState } from './feature-state.js';
import type { Standing } from './standing.js';

export interface FoldBackAsked {
  readonly fold_back_status: 'converged' | 'time_box_expired';
  readonly question_answered: boolean;
}

export type FoldBackRefusal = 'NO_PARENT' | 'ALREADY_FOLDED_BACK' | 'NOT_CONVERGED' | 'TIME_BOX_RUNNING';

/** What is spawned to find something out is done when that is found, wherever its edges are. */
const QUESTIONS: ReadonlySet<VectorType> = new Set(['discovery', 'spike', 'poc']);

/** Why a child cannot be folded back into its parent now; null: it can. */
export function foldBackFault(
  { row, complete, time_box }: Standing,
  asked: FoldBackAsked,
): { readonly code: FoldBackRefusal; readonly says: string } | null {
  const { feature_id, vector_type } = row.vector;
  if (parentOf(row) === null) {
    return { code: 'NO_PARENT', says: `${feature_id} was spawned from nothing, so nothing waits for it.` };
  }
  if (row.state?.folded_back != null) return alreadyFolded(feature_id);
  if (asked.fold_back_status === 'time_box_expired') {
    if (time_box.status === 'expired') return null;
    return {
      code: 'TIME_BOX_RUNNING',
      says: `The time box of ${feature_id} has not run out. Go on with it.`,
    };
  }
  if (complete) return null;
  if (asked.question_answered && QUESTIONS.has(vector_type)) return null;
  const hint = QUESTIONS.has(vector_type) ? ', or say question_answered' : '';
  return { code: 'NOT_CONVERGED', says: `${feature_id} has edges to converge. Finish them${hint}.` };
}

export const alreadyFolded = (feature_id: string) => ({
  code: 'ALREADY_FOLDED_BACK' as const,
  says: `${feature_id} was folded back before. That happens once.`,
});

export const parentOf = ({ vector, state }: FeatureRow): string | null =>
  vector.parent?.feature ?? state?.parent?.feature ?? null;

/** The edge of the parent that waits for this child, and for no other. */
export function edgeFreedBy(child: string, parent: FeatureState | undefined): string | null {
  if (parent === undefined) return null;
  const waits = [...parent.edges.values()].find(({ blocked_by }) => blocked_by === child);
  if (waits === undefined) return null;
  const others = [...parent.children.values()].some(
    (each) => each.feature !== child && each.edge === waits.edge && each.folded_back === null,
  );
  return others ? null : waits.edge;
}

/** What was fixed in haste is done properly in a feature of its own. */
export function remediationOf(
  hotfix: FeatureVector,
  feature_id: string,
  { default_profile }: Methodology,
  now_ms: number,
): FeatureVector {
  const reason = `remediation of ${hotfix.feature_id}`;
  return {
    ...hotfix,
    feature_id,
    title: `Remediation: ${hotfix.title}`.slice(0, 200),
    vector_type: 'feature',
    profile: default_profile,
    created: isoTime(now_ms),
    time_box: null,
    parent: hotfix.parent === null ? null : { ...hotfix.parent, edge: null, reason },
    requirements: [feature_id],
    acceptance_criteria: [],
    threshold_overrides: {},
    additional_checks: [],
  };
}
