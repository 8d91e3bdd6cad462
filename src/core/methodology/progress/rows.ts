import { VECTOR_TYPES } from '../../contract/values.js';
import { edgeSubject } from '../definition/edge-name.js';
import type { Feature } from '../definition/methodology.js';
import { newFeature } from '../definition/new-feature.js';
import type { EdgeClaim, FeatureRow, FeatureState, MethodologyState } from './feature-state.js';

/**
 * Combines each feature's definition with its state and claims. Features known only from the log, from a spawn or
 * another tool, get a row marked as not defined.
 */
export function featureRows(
  features: readonly Feature[],
  state: MethodologyState,
  claimOf: (subject: string) => EdgeClaim | null,
): FeatureRow[] {
  const definedIds = new Set(features.map(({ feature_id }) => feature_id));
  const logOnlyFeatures = [...state.features.values()]
    .filter(
      ({ feature_id, vector_type, edges }) =>
        !definedIds.has(feature_id) && (vector_type !== null || edges.size > 0),
    )
    .map(featureFromLog);
  return [...features, ...logOnlyFeatures].map((feature) => {
    const featureState = state.features.get(feature.feature_id) ?? null;
    return {
      feature,
      is_defined: definedIds.has(feature.feature_id),
      state: featureState,
      claims: claimsOfFeature(featureState, claimOf),
    };
  });
}

/** The claims of a feature by edge. A claim starts its edge, so the log has every claimed edge. */
function claimsOfFeature(
  state: FeatureState | null,
  claimOf: (subject: string) => EdgeClaim | null,
): Map<string, EdgeClaim> {
  const claims = new Map<string, EdgeClaim>();
  if (state === null) return claims;
  for (const edge of state.edges.keys()) {
    const claim = claimOf(edgeSubject(state.feature_id, edge));
    if (claim !== null) claims.set(edge, claim);
  }
  return claims;
}

function featureFromLog(state: FeatureState): Feature {
  return newFeature({
    feature_id: state.feature_id,
    title: state.title ?? state.feature_id,
    vector_type: VECTOR_TYPES.find((type) => type === state.vector_type) ?? 'feature',
    profile: state.profile ?? '',
    time_box: state.time_box && { ...state.time_box, check_in_seconds: null },
    parent: state.parent,
  });
}
