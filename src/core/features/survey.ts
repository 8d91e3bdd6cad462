import type { Methodology, Profile } from '../graph/methodology.js';
import type { RouteQuestion } from '../graph/route.js';
import { type Standing, type Step, standingOf, unconverged } from './standing.js';
import { type Stage, wayOf } from './way.js';

export const FEATURE_STATUSES = [
  'pending',
  'in_progress',
  'stuck',
  'pending_review',
  'blocked',
  'converged',
  'time_box_expired',
] as const;
export type FeatureStatus = (typeof FEATURE_STATUSES)[number];

/** What keeps everybody from an edge. A claim does not: it keeps out all but its holder. */
export interface Obstacle {
  readonly kind: 'review' | 'spawn' | 'hold' | 'told' | 'source' | 'dependency' | 'time_box';
  readonly says: string;
}

/** All features at one moment, each in the light of the others. */
export interface Survey {
  readonly standings: ReadonlyMap<string, Standing>;
  /** What keeps everybody from the whole feature. */
  readonly obstacleOf: (standing: Standing) => Obstacle | null;
  readonly statusOf: (standing: Standing) => FeatureStatus;
}

export function surveyOf({ methodology, rows, now_ms }: RouteQuestion): Survey {
  const standings = new Map<string, Standing>();
  if (methodology !== null) {
    const ways = waysThrough(methodology);
    for (const row of rows) standings.set(row.vector.feature_id, standingOf(methodology, row, now_ms, ways));
  }
  const obstacleOf = (standing: Standing): Obstacle | null => featureObstacle(standing, standings);
  const statuses = new Map<Standing, FeatureStatus>();
  return {
    standings,
    obstacleOf,
    statusOf: (standing) => {
      const status = statuses.get(standing) ?? statusOf(standing, obstacleOf(standing));
      statuses.set(standing, status);
      return status;
    },
  };
}

/** Many features share a few profiles. */
function waysThrough({ topology }: Methodology): (profile: Profile) => readonly Stage[] {
  const known = new Map<Profile, readonly Stage[]>();
  return (profile) => {
    const way = known.get(profile) ?? wayOf(profile, topology);
    known.set(profile, way);
    return way;
  };
}

function statusOf(standing: Standing, obstacle: Obstacle | null): FeatureStatus {
  const { state } = standing.row;
  if (standing.complete) return state?.folded_back === 'time_box_expired' ? 'time_box_expired' : 'converged';
  if (standing.steps.some(({ stuck }) => stuck)) return 'stuck';
  if (obstacle !== null) return obstacle.kind === 'time_box' ? 'time_box_expired' : 'blocked';
  const obstacles = unconverged(standing).map((step) => stepObstacle(standing, step));
  if (!obstacles.includes(null)) {
    return obstacles.some((found) => found?.kind === 'review') ? 'pending_review' : 'blocked';
  }
  return standing.steps.some((step) => step.state !== null) ? 'in_progress' : 'pending';
}

function featureObstacle(standing: Standing, standings: Survey['standings']): Obstacle | null {
  const { row, time_box } = standing;
  if (time_box.status === 'expired') return { kind: 'time_box', says: 'its time box has run out' };
  for (const dependency of row.vector.dependencies) {
    const says = missing(dependency, standings);
    if (says !== null) return { kind: 'dependency', says };
  }
  return null;
}

/** A dependency is there when every edge up to what it asks for has converged; one edge of several is not enough. */
function missing(
  { feature, asset }: { readonly feature: string; readonly asset: string | null },
  standings: Survey['standings'],
): string | null {
  const standing = standings.get(feature);
  if (standing === undefined) return `it depends on ${feature}, which nobody has defined`;
  if (standing.complete) return null;
  const upTo = standing.steps.findLastIndex(({ transition }) => transition.target === asset);
  const wanted = upTo === -1 ? standing.steps : standing.steps.slice(0, upTo + 1);
  const open = wanted.find((step) => !step.optional && step.status !== 'converged');
  if (open === undefined) return null;
  const what = asset === null ? feature : `the ${asset} of ${feature}`;
  return `it depends on ${what}, where ${open.edge} has not converged`;
}

export function stepObstacle({ row, steps }: Standing, { status, state, needs }: Step): Obstacle | null {
  if (status === 'pending_review') return { kind: 'review', says: 'it waits for a human to review it' };
  if (state?.blocked_by != null) {
    return { kind: 'spawn', says: `it waits for ${state.blocked_by} to fold back` };
  }
  if (state?.hold != null) return { kind: 'hold', says: `an operator holds it: ${state.hold}` };
  if (status === 'blocked') return { kind: 'told', says: 'its last iteration says that it is blocked' };
  const open = needs.find((edge) => steps.some((step) => step.edge === edge && step.status !== 'converged'));
  if (open === undefined) return null;
  return { kind: 'source', says: `${open} of ${row.vector.feature_id} has not converged yet` };
}
