import type { MethodologyState } from './feature-state.js';
import type { Standing } from './standing.js';

export interface ReadinessCheck {
  readonly name: string;
  readonly passed: boolean;
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
  const open = [...standings]
    .filter(({ row, complete }) => row.vector.priority === 'critical' && !complete)
    .map(({ row }) => row.vector.feature_id);
  const gaps = known_gaps ?? (state.last_gaps === null ? null : gapsIn(state.last_gaps));
  return [
    check('critical_features', open.length === 0, {
      passed: 'Every critical feature has converged.',
      failed: `Not converged: ${some(open)}. Finish them first.`,
    }),
    check('reviews', pending_reviews.length === 0, {
      passed: 'Nothing waits for a human.',
      failed: `Waiting for a human: ${some(pending_reviews)}. Decide on them first.`,
    }),
    check('gaps', gaps !== null, {
      passed: `Known gaps: ${gaps}.`,
      failed: 'Nobody has looked for gaps. Run gen gaps first, or say known_gaps.',
    }),
  ];
}

const gapsIn = ({ total_req_keys, full_coverage }: NonNullable<MethodologyState['last_gaps']>): number =>
  total_req_keys - full_coverage;

const check = (name: string, passed: boolean, says: { passed: string; failed: string }): ReadinessCheck => ({
  name,
  passed,
  says: passed ? says.passed : says.failed,
});

const NAMED_MAX = 10;
const some = (names: readonly string[]): string =>
  names.length <= NAMED_MAX
    ? names.join(', ')
    : `${names.slice(0, NAMED_MAX).join(', ')} and ${names.length - NAMED_MAX} more`;
