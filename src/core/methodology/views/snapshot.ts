import type { VectorType } from '../definition/methodology.js';
import { isCountedStep, type StepStatus } from '../progress/feature-progress.js';
import { type FeatureStatus, projectProgressOf } from '../progress/project-progress.js';
import type { RouteInput } from '../progress/route-input.js';

export interface FeatureSnapshot {
  readonly feature_id: string;
  readonly title: string;
  readonly vector_type: VectorType;
  readonly profile: string;
  readonly status: FeatureStatus;
  readonly edges: readonly {
    readonly edge: string;
    readonly status: StepStatus;
    readonly iteration: number;
    readonly delta: number | null;
    readonly converged_at: string | null;
  }[];
}

/** Progress of each feature, in a form that can be stored. */
export function featureSnapshots(input: RouteInput): FeatureSnapshot[] {
  const projectProgress = projectProgressOf(input);
  return [...projectProgress.features.values()].map((progress) => {
    const { feature_id, title, vector_type, profile } = progress.row.vector;
    const edges = progress.steps.filter(isCountedStep).map(({ edge, status, state }) => {
      const { iteration = 0, delta = null, converged_at = null } = state ?? {};
      return { edge, status, iteration, delta, converged_at };
    });
    return { feature_id, title, vector_type, profile, status: projectProgress.statusOf(progress), edges };
  });
}
