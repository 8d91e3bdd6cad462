import type { ReadinessCheck } from '../../contract/version-releases.js';
import type { FeatureProgress } from './feature-progress.js';
import type { MethodologyState } from './feature-state.js';

interface ReadinessInput {
  readonly features: Iterable<FeatureProgress>;
  readonly state: MethodologyState;
  readonly pending_reviews: readonly string[];
  /** Number of gaps that a person accepts for the release; null if the request does not state it. */
  readonly known_gaps: number | null;
}

/** Checks whether the project may be released. */
export function checkReadiness(input: ReadinessInput): ReadinessCheck[] {
  const { features, state, pending_reviews, known_gaps } = input;
  const featureList = [...features];
  const critical = featureList.filter(({ row }) => row.feature.priority === 'critical');
  const { last_gaps } = state;
  const gaps = known_gaps ?? (last_gaps && last_gaps.total_req_keys - last_gaps.full_coverage);
  return [
    criticalFeaturesCheck(critical.filter(isIncomplete).map(idOf), critical.length),
    featuresCheck(featureList.filter(isIncomplete).map(idOf), featureList.length),
    pending_reviews.length === 0
      ? readinessCheckOf('reviews', true, 'No review is pending.')
      : readinessCheckOf(
          'reviews',
          false,
          `Pending reviews: ${joinNames(pending_reviews)}. Decide them first.`,
        ),
    gaps === null
      ? readinessCheckOf('gaps', false, 'Gaps have not been checked. Run gen gaps first, or pass known_gaps.')
      : readinessCheckOf('gaps', true, `Known gaps: ${gaps}.`, gaps > 0),
  ];
}

const isIncomplete = ({ isComplete }: FeatureProgress): boolean => !isComplete;
const idOf = ({ row }: FeatureProgress): string => row.feature.feature_id;
const readinessCheckOf = (
  name: string,
  passed: boolean,
  says: string,
  lacking = !passed,
): ReadinessCheck => ({
  name,
  passed,
  lacking,
  says,
});

function criticalFeaturesCheck(incompleteIds: readonly string[], count: number): ReadinessCheck {
  const name = 'critical_features';
  if (incompleteIds.length > 0)
    return readinessCheckOf(name, false, `Not converged: ${joinNames(incompleteIds)}. Finish them first.`);
  if (count === 0) return readinessCheckOf(name, true, 'No feature is critical, so none had to converge.');
  return readinessCheckOf(name, true, 'Every critical feature has converged.');
}

/** A release may leave out features, but must list them. */
function featuresCheck(incompleteIds: readonly string[], count: number): ReadinessCheck {
  const name = 'features';
  if (count === 0)
    return readinessCheckOf(name, true, 'The project has no features, so this release has none.', true);
  if (incompleteIds.length === 0) return readinessCheckOf(name, true, 'Every feature has converged.');
  const message =
    incompleteIds.length === count ? 'No feature has converged, so this release has none. ' : '';
  return readinessCheckOf(name, true, `${message}Not included: ${joinNames(incompleteIds)}.`, true);
}

const NAMED_MAX = 10;
const joinNames = (names: readonly string[]): string =>
  names.length <= NAMED_MAX
    ? names.join(', ')
    : `${names.slice(0, NAMED_MAX).join(', ')} and ${names.length - NAMED_MAX} more`;
