import { PRIORITIES } from '../../contract/values.js';
import { unconvergedSteps } from '../progress/feature-progress.js';
import type { RouteOption } from './route-edge.js';

interface RankingTier {
  /** Lower values come first. */
  readonly weight: (option: RouteOption) => number;
  readonly describe: (option: RouteOption) => string;
}

const URGENT_BELOW_FRACTION = 0.25;
const NOT_URGENT = 1;

function urgency({ progress: { time_box } }: RouteOption): number {
  if (time_box.status === 'none') return NOT_URGENT;
  const remainingFraction = Math.max(1 - time_box.elapsed, 0);
  return remainingFraction < URGENT_BELOW_FRACTION ? remainingFraction : NOT_URGENT;
}
const openEdgeCount = ({ progress }: RouteOption): number => unconvergedSteps(progress).length;
const priorityOf = ({ progress }: RouteOption) => progress.row.feature.priority;
const lastPosition = ({ progress }: RouteOption): number => progress.row.state?.last_position ?? 0;

/** Ranking criteria in order. Of two options, the first criterion in which they differ decides. */
const TIERS: readonly RankingTier[] = [
  {
    weight: urgency,
    describe: (option) => `${Math.round(urgency(option) * 100)} % of its time box is left`,
  },
  {
    weight: openEdgeCount,
    describe: (option) => `it has the fewest open edges: ${openEdgeCount(option)}`,
  },
  {
    weight: (option) => PRIORITIES.indexOf(priorityOf(option)),
    describe: (option) => `its priority is ${priorityOf(option)}`,
  },
  { weight: (option) => -lastPosition(option), describe: () => 'it was worked on most recently' },
];

const featureIdOf = ({ progress }: RouteOption): string => progress.row.feature.feature_id;

export function rankOptions(options: readonly RouteOption[]): RouteOption[] {
  return [...options].sort((a, b) => {
    for (const { weight } of TIERS) {
      const difference = weight(a) - weight(b);
      if (difference !== 0) return difference;
    }
    return featureIdOf(a) < featureIdOf(b) ? -1 : 1;
  });
}

export function rankingText(first: RouteOption, second: RouteOption | undefined): string {
  const { feature_id } = first.progress.row.feature;
  if (second === undefined) return `${feature_id} is the only feature that can continue`;
  const decisive = TIERS.find(({ weight }) => weight(first) !== weight(second));
  if (decisive === undefined) return `${feature_id} comes first by name; all other criteria are equal`;
  return `${feature_id} goes before ${featureIdOf(second)}: ${decisive.describe(first)}`;
}
