import type { MethodologyState } from './feature-state.js';
import type { Standing } from './standing.js';

export interface ReadinessCheck {
  readonly name: string;
  readonly passed: boolean;
  /** It stands against nothing, and yet something is not there that a release usually has. */
  readonly lacking: boolean;
  readonly says: string;
}

export interface ReleaseGround {
  readonly standings: Iterable<Standing>;
  readonly state: MethodologyState;
  readonly pending_reviews: readonly string[];
  /** Gaps that somebody knows of and answers for; null: nobody says. */
  readonly known_gaps: number | null;
}

/** Whether the project may be released, question by question. */
export function readinessOf(ground: ReleaseGround): ReadinessCheck[] {
  const { standings, state, pending_reviews, known_gaps } = ground;
  const all = [...standings];
  const critical = all.filter(({ row }) => row.vector.priority === 'critical');
  const gaps = known_gaps ?? (state.last_gaps === null ? null : gapsIn(state.last_gaps));
  return [
    ofCritical(critical.filter(isOpen).map(idOf), critical.length),
    ofFeatures(all.filter(isOpen).map(idOf), all.length),
    pending_reviews.length === 0
      ? passed('reviews', 'Nothing waits for a human.')
      : failed('reviews', `Waiting for a human: ${some(pending_reviews)}. Decide on them first.`),
    gaps === null
      ? failed('gaps', 'Nobody has looked for gaps. Run gen gaps first, or say known_gaps.')
      : passed('gaps', `Known gaps: ${gaps}.`, gaps > 0),
  ];
}

const isOpen = ({ complete }: Standing): boolean => !complete;
const idOf = ({ row }: Standing): string => row.vector.feature_id;

function ofCritical(open: readonly string[], count: number): ReadinessCheck {
  if (open.length > 0) return failed('critical_features', `Not converged: ${some(open)}. Finish them first.`);
  const says =
    count === 0
      ? 'No feature is critical, so none had to converge.'
      : 'Every critical feature has converged.';
  return passed('critical_features', says);
}

/** A release may go out without a feature, but not without a word of it. */
function ofFeatures(open: readonly string[], count: number): ReadinessCheck {
  if (count === 0) return passed('features', 'The project has no features: this release has none.', true);
  if (open.length === 0) return passed('features', 'Every feature has converged.');
  const says = open.length === count ? 'No feature has converged: this release has none. ' : '';
  return passed('features', `${says}Left out: ${some(open)}.`, true);
}

const gapsIn = ({ total_req_keys, full_coverage }: NonNullable<MethodologyState['last_gaps']>): number =>
  total_req_keys - full_coverage;

const passed = (name: string, says: string, lacking = false): ReadinessCheck => ({
  name,
  passed: true,
  lacking,
  says,
});
const failed = (name: string, says: string): ReadinessCheck => ({
  name,
  passed: false,
  lacking: true,
  says,
});

const NAMED_MAX = 10;
const some = (names: readonly string[]): string =>
  names.length <= NAMED_MAX
    ? names.join(', ')
    : `${names.slice(0, NAMED_MAX).join(', ')} and ${names.length - NAMED_MAX} more`;
