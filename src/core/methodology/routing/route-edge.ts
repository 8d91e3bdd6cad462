import type { RouteAdvice } from '../../contract/start.js';
import { type FeatureProgress, type FeatureStep, isCountedStep } from '../progress/feature-progress.js';
import type { EdgeClaim, RouteInput } from '../progress/feature-state.js';
import { type ProjectProgress, stepObstacle } from '../progress/project-progress.js';

type RouteRequest = RouteInput['request'];
type SkippedEdge = RouteAdvice['skipped'][number];

/** A feature that can continue, and its next step. */
export interface RouteOption {
  readonly progress: FeatureProgress;
  readonly step: FeatureStep;
}

interface EdgeChoice {
  readonly option: RouteOption | null;
  readonly skipped: readonly SkippedEdge[];
}

/** Chooses the first edge of the feature's profile that the caller could claim now, and lists what was skipped and why. */
export function chooseEdge({ request, obstacleOf }: ProjectProgress, progress: FeatureProgress): EdgeChoice {
  const feature = progress.row.feature.feature_id;
  const obstacle = obstacleOf(progress);
  if (obstacle !== null && !(obstacle.kind === 'time_box' && request.feature === feature)) {
    return { option: null, skipped: [{ feature, edge: null, says: obstacle.message }] };
  }
  const otherClaim = request.feature === feature ? null : otherAgentsClaim(progress, request);
  if (otherClaim !== null) return { option: null, skipped: [{ feature, ...otherClaim }] };
  const skipped: SkippedEdge[] = [];
  for (const step of progress.steps) {
    if (!isRequestedStep(step, request)) continue;
    const message = stepRefusal(progress, step, request);
    if (message === null) return { option: { progress, step }, skipped };
    skipped.push({ feature, edge: step.edge, says: message });
  }
  return { option: null, skipped };
}

/**
 * Whether the request is about this step: about the edge that it names, otherwise about every unconverged edge of the
 * profile, except optional edges that have not started.
 */
function isRequestedStep(step: FeatureStep, request: RouteRequest): boolean {
  if (request.edge !== undefined) return step.edge === request.edge;
  return isCountedStep(step) && step.status !== 'converged';
}

/** The claim of another agent on the feature. Two agents on one feature would share all its modules. */
function otherAgentsClaim(
  { steps, row }: FeatureProgress,
  request: RouteRequest,
): Omit<SkippedEdge, 'feature'> | null {
  for (const [edge, claim] of row.claims) {
    const isConverged = steps.some((step) => step.edge === edge && step.status === 'converged');
    if (!isConverged && isHeldByAnother(claim, request)) return { edge, says: holderText(claim) };
  }
  return null;
}

/** Whether the claim of another agent keeps the caller from claiming. A claim whose lease has expired does not. */
export const isHeldByAnother = ({ agent_id, state }: EdgeClaim, request: RouteRequest): boolean =>
  agent_id !== request.agent_id && state !== 'lease_expired';

function holderText({ agent_id, state, since }: EdgeClaim): string {
  if (state === 'stale') return `${agent_id} has held it since ${since} and is inactive`;
  if (state === 'suspended') return `${agent_id} has suspended it`;
  if (state === 'awaiting_human') return `${agent_id} holds it and waits for a person`;
  return `${agent_id} has held it since ${since}`;
}

function stepRefusal(progress: FeatureProgress, step: FeatureStep, request: RouteRequest): string | null {
  if (step.status === 'converged') return 'it has converged; an operator can reset it';
  const obstacle = stepObstacle(progress, step);
  if (obstacle !== null) return obstacle.message;
  if (step.claim !== null && isHeldByAnother(step.claim, request)) return holderText(step.claim);
  // A request that names the feature is a deliberate retry of a stuck edge.
  if (step.stuck && request.feature === undefined) {
    return `it is stuck at delta ${step.state?.delta} and needs a person or a different approach`;
  }
  return null;
}
