import { unconverged } from '../features/standing.js';
import { PRIORITIES } from './methodology.js';
import type { Candidate } from './route-edge.js';

interface Tier {
  /** Less goes first. */
  readonly weight: (candidate: Candidate) => number;
  readonly says: (candidate: Candidate) => string;
}

const URGENT_FROM_LEFT = 0.25;
const NOT_URGENT = 1;

function timeLeft({ standing: { time_box } }: Candidate): number {
  if (time_box.status === 'none') return NOT_URGENT;
  const left = Math.max(1 - time_box.elapsed, 0);
  return left < URGENT_FROM_LEFT ? left : NOT_URGENT;
}
const openEdges = ({ standing }: Candidate): number => unconverged(standing).length;
const priorityOf = ({ standing }: Candidate) => standing.row.vector.priority;
const lastPosition = ({ standing }: Candidate): number => standing.row.state?.last_position ?? 0;

/** In this order; the first that tells two features apart decides between them. */
const TIERS: readonly Tier[] = [
  {
    weight: timeLeft,
    says: (candidate) => `${Math.round(timeLeft(candidate) * 100)} % of its time box are left`,
  },
  { weight: openEdges, says: (candidate) => `it has the fewest edges to go: ${openEdges(candidate)}` },
  {
    weight: (candidate) => PRIORITIES.indexOf(priorityOf(candidate)),
    says: (candidate) => `its priority is ${priorityOf(candidate)}`,
  },
  { weight: (candidate) => -lastPosition(candidate), says: () => 'it was worked on last' },
];

const idOf = ({ standing }: Candidate): string => standing.row.vector.feature_id;

export function inOrder(candidates: readonly Candidate[]): Candidate[] {
  return [...candidates].sort((a, b) => {
    for (const { weight } of TIERS) {
      const difference = weight(a) - weight(b);
      if (difference !== 0) return difference;
    }
    return idOf(a) < idOf(b) ? -1 : 1;
  });
}

/** Why the first goes before the second. */
export function whyFirst(first: Candidate, second: Candidate | undefined): string {
  const { feature_id } = first.standing.row.vector;
  if (second === undefined) return `${feature_id} is the only feature that can go on`;
  const decisive = TIERS.find(({ weight }) => weight(first) !== weight(second));
  if (decisive === undefined) return `${feature_id} comes first by its name; nothing else tells it apart`;
  return `${feature_id} goes before ${idOf(second)}: ${decisive.says(first)}`;
}
