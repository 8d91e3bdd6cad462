import type { FeatureProgress } from './feature-progress.js';
import type { MethodologyState } from './feature-state.js';

export interface ReadinessCheck {
  readonly name: string;
  readonly passed: boolean;
  /** The check passes, but something is missing that a release usually has. */
  readonly lacking: boolean;
  readonly says: string;
}

export interface ReadinessInput {
  readonly features: Iterable<FeatureProgress>;
  readonly state: MethodologyState;
  readonly pending_reviews: readonly string[];
  /** Number of gaps that a person accepts; null if not stated. */
  readonly known_gaps: number | null;
}

/** Checks whether the project may be released. */
export function checkReadiness(input: ReadinessInput): ReadinessCheck[] {
  const { features, state, pending_reviews, known_gaps } = input;
  const all = [...features];
  const critical = all.filter(({ row }) => row.vector.priority === 'critical');
  const gaps = known_gaps ?? (state.last_gaps === null ? null : gapCount(state.last_gaps));
  return [
    criticalFeaturesCheck(critical.filter(isIncomplete).map(idOf), critical.length),
    featuresCheck(all.filter(isIncomplete).map(idOf), all.length),
    pending_reviews.length === 0
      ? passedCheck('reviews', 'Nothing waits for a human.')
      : failedCheck('reviews', `Waiting for a human: ${joinNames(pending_reviews)}. Decide on them first.`),
    gaps === null
      ? failedCheck('gaps', 'Nobody has looked for gaps. Run gen gaps first, or say known_gaps.')
      : passedCheck('gaps', `Known gaps: ${gaps}.`, gaps > 0),
  ];
}

const isIncomplete = ({ isComplete }: FeatureProgress): boolean => !isComplete;
const idOf = ({ row }: FeatureProgress): string => row.vector.feature_id;

function criticalFeaturesCheck(open: readonly string[], count: number): ReadinessCheck {
  if (open.length > 0)
    return failedCheck('critical_features', `Not converged: ${joinNames(open)}. Finish them first.`);
  const message =
    count === 0
      ? 'No feature is critical, so none had to converge.'
      : 'Every critical feature has converged.';
  return passedCheck('critical_features', message);
}

/** A release may omit features, but must list them. */
function featuresCheck(open: readonly string[], count: number): ReadinessCheck {
  if (count === 0)
    return passedCheck('features', 'The project has no features: this release has none.', true);
  if (open.length === 0) return passedCheck('features', 'Every feature has converged.');
  const message = open.length === count ? 'No feature has converged: this release has none. ' : '';
  return passedCheck('features', `${message}Left out: ${joinNames(open)}.`, true);
}

const gapCount = ({ total_req_keys, full_coverage }: NonNullable<MethodologyState['last_gaps']>): number =>
  total_req_keys - full_coverage;

const passedCheck = (name: string, message: string, lacking = false): ReadinessCheck => ({
  name,
  passed: true,
  lacking,
  says: message,
});
const failedCheck = (name: string, message: string): ReadinessCheck => ({
  name,
  passed: false,
  lacking: true,
  says: message,
});

const NAMED_MAX = 10;
const joinNames = (names: readonly string[]): string =>
  names.length <= NAMED_MAX
    ? names.join(', ')
    : `${names.slice(0, NAMED_MAX).join(', ')} and ${names.length - NAMED_MAX} more`;
