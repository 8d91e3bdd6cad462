import { PRIORITIES } from '../../contract/values.js';
import { unconvergedSteps } from '../progress/feature-progress.js';
import type { RouteCandidate } from './route-edge.js';

interface RankingTier {
  /** Lower values come first. */
  readonly weight: (candidate: RouteCandidate) => number;
  readonly describe: (candidate: RouteCandidate) => string;
}

const URGENT_BELOW_FRACTION = 0.25;
const NOT_URGENT = 1;

function urgency({ progress: { time_box } }: RouteCandidate): number {
  if (time_box.status === 'none') return NOT_URGENT;
  const remainingFraction = Math.max(1 - time_box.elapsed, 0);
  return remainingFraction < URGENT_BELOW_FRACTION ? remainingFraction : NOT_URGENT;
}
const openEdgeCount = ({ progress }: RouteCandidate): number => unconvergedSteps(progress).length;
const priorityOf = ({ progress }: RouteCandidate) => progress.row.feature.priority;
const lastPosition = ({ progress }: RouteCandidate): number => progress.row.state?.last_position ?? 0;

/** Ranking criteria in order; the first that differs decides. */
const TIERS: readonly RankingTier[] = [
  {
    weight: urgency,
    describe: (candidate) => `${Math.round(urgency(candidate) * 100)} % of its time box is left`,
  },
  {
    weight: openEdgeCount,
    describe: (candidate) => `it has the fewest open edges: ${openEdgeCount(candidate)}`,
  },
  {
    weight: (candidate) => PRIORITIES.indexOf(priorityOf(candidate)),
    describe: (candidate) => `its priority is ${priorityOf(candidate)}`,
  },
  { weight: (candidate) => -lastPosition(candidate), describe: () => 'it was worked on most recently' },
];

const featureIdOf = ({ progress }: RouteCandidate): string => progress.row.feature.feature_id;

export function rankCandidates(candidates: readonly RouteCandidate[]): RouteCandidate[] {
  return [...candidates].sort((a, b) => {
    for (const { weight } of TIERS) {
      const difference = weight(a) - weight(b);
      if (difference !== 0) return difference;
    }
    return featureIdOf(a) < featureIdOf(b) ? -1 : 1;
  });
}

export function rankingReason(first: RouteCandidate, second: RouteCandidate | undefined): string {
  const { feature_id } = first.progress.row.feature;
  if (second === undefined) return `${feature_id} is the only feature that can continue`;
  const decisive = TIERS.find(({ weight }) => weight(first) !== weight(second));
  if (decisive === undefined) return `${feature_id} comes first by name; all other criteria are equal`;
  return `${feature_id} goes before ${featureIdOf(second)}: ${decisive.describe(first)}`;
}
