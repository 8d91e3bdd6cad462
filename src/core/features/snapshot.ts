import type { VectorType } from '../graph/methodology.js';
import type { RouteQuestion } from '../graph/route.js';
import { counts, type StepStatus } from './standing.js';
import { type FeatureStatus, surveyOf } from './survey.js';

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

/** How far each feature is, in a form that is kept. */
export function snapshotsOf(question: RouteQuestion): FeatureSnapshot[] {
  const survey = surveyOf(question);
  return [...survey.standings.values()].map((standing) => {
    const { feature_id, title, vector_type, profile } = standing.row.vector;
    const edges = standing.steps.filter(counts).map(({ edge, status, state }) => {
      const { iteration = 0, delta = null, converged_at = null } = state ?? {};
      return { edge, status, iteration, delta, converged_at };
    });
    return { feature_id, title, vector_type, profile, status: survey.statusOf(standing), edges };
  });
}
