import type { FeatureStatus } from '../../contract/values.js';
import type { Methodology, Profile } from '../definition/methodology.js';
import { edgePathOf, type PathStep } from './edge-path.js';
import {
  type FeatureProgress,
  type FeatureStep,
  featureProgressOf,
  missingEdges,
  unconvergedSteps,
} from './feature-progress.js';
import type { RouteInput } from './feature-state.js';

/** An obstacle that blocks an edge for every agent. A claim is not an obstacle, because its holder may work. */
interface Obstacle {
  readonly kind:
    | 'review'
    | 'suspended'
    | 'spawn'
    | 'hold'
    | 'reported'
    | 'source'
    | 'dependency'
    | 'time_box'
    | 'profile';
  readonly message: string;
}

/** A project, and the progress of all its features at one time, including their effects on each other. */
export interface ProjectProgress extends RouteInput {
  readonly features: ReadonlyMap<string, FeatureProgress>;
  /** The obstacle that blocks the feature for every agent; null if there is none. */
  readonly obstacleOf: (progress: FeatureProgress) => Obstacle | null;
  readonly statusOf: (progress: FeatureProgress) => FeatureStatus;
}

export function projectProgressOf(input: RouteInput): ProjectProgress {
  const { methodology, rows, now_ms } = input;
  const features = new Map<string, FeatureProgress>();
  if (methodology !== null) {
    const pathOf = memoizedEdgePaths(methodology);
    for (const row of rows)
      features.set(row.feature.feature_id, featureProgressOf(methodology, row, now_ms, pathOf));
  }
  const obstacleOf = (progress: FeatureProgress): Obstacle | null => featureObstacle(progress, features);
  const statuses = new Map<FeatureProgress, FeatureStatus>();
  return {
    ...input,
    features,
    obstacleOf,
    statusOf: (progress) => {
      const status = statuses.get(progress) ?? featureStatusOf(progress, obstacleOf(progress));
      statuses.set(progress, status);
      return status;
    },
  };
}

/** Caches the edge path of each profile, because many features share a few profiles. */
function memoizedEdgePaths({ topology }: Methodology): (profile: Profile) => readonly PathStep[] {
  const cache = new Map<Profile, readonly PathStep[]>();
  return (profile) => {
    const edgePath = cache.get(profile) ?? edgePathOf(profile, topology);
    cache.set(profile, edgePath);
    return edgePath;
  };
}

function featureStatusOf(progress: FeatureProgress, obstacle: Obstacle | null): FeatureStatus {
  const { state } = progress.row;
  if (progress.isComplete)
    return state?.folded_back === 'time_box_expired' ? 'time_box_expired' : 'converged';
  if (progress.steps.some(({ stuck }) => stuck)) return 'stuck';
  if (obstacle !== null) return obstacle.kind === 'time_box' ? 'time_box_expired' : 'blocked';
  const obstacles = unconvergedSteps(progress).map((step) => stepObstacle(progress, step));
  if (!obstacles.includes(null)) {
    return obstacles.some((blocking) => blocking?.kind === 'review') ? 'pending_review' : 'blocked';
  }
  return progress.steps.some((step) => step.state !== null) ? 'in_progress' : 'pending';
}

function featureObstacle(progress: FeatureProgress, features: ProjectProgress['features']): Obstacle | null {
  const { row, time_box } = progress;
  if (time_box.status === 'expired') return { kind: 'time_box', message: 'its time box has expired' };
  for (const dependency of row.feature.dependencies) {
    const message = unmetDependencyText(dependency, features);
    if (message !== null) return { kind: 'dependency', message };
  }
  const missingNames = missingEdges(progress.profile);
  if (missingNames.length === 0 || unconvergedSteps(progress).length > 0) return null;
  const message = `its profile ${progress.profile.name} names edges that the topology does not have: ${missingNames.join(', ')}`;
  return { kind: 'profile', message };
}

/** Why a dependency is not met; null if it is: its required edges up to the asset have converged, or it is complete. */
function unmetDependencyText(
  { feature, asset }: { readonly feature: string; readonly asset: string | null },
  features: ProjectProgress['features'],
): string | null {
  const progress = features.get(feature);
  if (progress === undefined) return `it depends on ${feature}, which is not defined`;
  if (progress.isComplete) return null;
  const lastIndex = progress.steps.findLastIndex(({ transition }) => transition.target === asset);
  const requiredSteps = lastIndex === -1 ? progress.steps : progress.steps.slice(0, lastIndex + 1);
  const openStep = requiredSteps.find((step) => !step.optional && step.status !== 'converged');
  if (openStep === undefined && lastIndex === -1 && missingEdges(progress.profile).length > 0)
    return `it depends on ${feature}, whose profile ${progress.profile.name} does not fit the topology`;
  if (openStep === undefined) return null;
  const required = asset === null ? feature : `the ${asset} of ${feature}`;
  return `it depends on ${required}, where ${openStep.edge} has not converged`;
}

export function stepObstacle(
  { row, steps }: FeatureProgress,
  { status, state, claim, needs }: FeatureStep,
): Obstacle | null {
  if (claim?.state === 'suspended')
    return { kind: 'suspended', message: 'its claim is suspended, and no candidate waits for a review' };
  if (status === 'pending_review') return { kind: 'review', message: 'it waits for a person to review it' };
  if (state?.blocked_by != null) {
    return { kind: 'spawn', message: `it waits for ${state.blocked_by} to fold back` };
  }
  if (state?.hold != null) return { kind: 'hold', message: `an operator holds it: ${state.hold}` };
  if (status === 'blocked') return { kind: 'reported', message: 'its last iteration reported it as blocked' };
  const openEdge = needs.find((edge) =>
    steps.some((step) => step.edge === edge && step.status !== 'converged'),
  );
  if (openEdge === undefined) return null;
  return { kind: 'source', message: `${openEdge} of ${row.feature.feature_id} has not converged yet` };
}
