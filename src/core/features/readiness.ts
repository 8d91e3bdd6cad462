import type { Methodology } from '../graph/methodology.js';
import type { FeatureRow, MethodologyState } from './feature-state.js';
import { standingOf } from './standing.js';

export interface ReadinessCheck {
  readonly name: string;
  readonly passed: boolean;
  readonly says: string;
}

export interface ReleaseGround {
  readonly methodology: Methodology;
  readonly rows: readonly FeatureRow[];
  readonly state: MethodologyState;
  readonly now_ms: number;
  readonly pending_reviews: readonly string[];
  /** Gaps that somebody knows of and answers for; null: nobody says. */
  readonly known_gaps: number | null;
}

/** Whether the project may be released, question by question. */
export function readinessOf(ground: ReleaseGround): ReadinessCheck[] {
  const { methodology, rows, state, now_ms, pending_reviews, known_gaps } = ground;
  const open = rows
    .filter((row) => row.vector.priority === 'critical' && !standingOf(methodology, row, now_ms).complete)
    .map((row) => row.vector.feature_id);
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
      passed: `${gaps} gaps are known.`,
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
