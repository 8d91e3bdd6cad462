import type { FeatureSnapshot } from '../../contract/checkpoints.js';
import { isCountedStep } from '../progress/feature-progress.js';
import type { RouteInput } from '../progress/feature-state.js';
import { projectProgressOf } from '../progress/project-progress.js';

/** Progress of each feature, in a form that can be stored. */
export function featureSnapshots(input: RouteInput): FeatureSnapshot[] {
  const projectProgress = projectProgressOf(input);
  return [...projectProgress.features.values()].map((progress) => {
    const { feature_id, title, vector_type, profile } = progress.row.feature;
    const edges = progress.steps.filter(isCountedStep).map(({ edge, status, state }) => {
      const { iteration = 0, delta = null, converged_at = null } = state ?? {};
      return { edge, status, iteration, delta, converged_at };
    });
    return { feature_id, title, vector_type, profile, status: projectProgress.statusOf(progress), edges };
  });
}
