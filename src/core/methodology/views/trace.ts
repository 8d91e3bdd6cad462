import type { RequirementTrace, TracedFeature } from '../../contract/methodology-views.js';
import type { FeatureStatus } from '../../contract/values.js';
import type { FeatureProgress } from '../progress/feature-progress.js';
import type { RouteInput } from '../progress/feature-state.js';
import { projectProgressOf } from '../progress/project-progress.js';

/** Traces a requirement: the features that deliver it, and their progress at each stage. */
export function traceView(input: RouteInput, requirement: string): RequirementTrace {
  const projectProgress = projectProgressOf(input);
  const deliveringFeatures = [...projectProgress.features.values()].filter(
    ({ row: { feature } }) =>
      feature.feature_id === requirement || feature.requirements.includes(requirement),
  );
  const gaps =
    deliveringFeatures.length === 0
      ? [`no feature delivers ${requirement}`]
      : deliveringFeatures.flatMap(traceGaps);
  const features = deliveringFeatures.map((progress) =>
    tracedFeature(progress, projectProgress.statusOf(progress)),
  );
  return { requirement, features, gaps };
}

function tracedFeature(
  { row: { feature, state }, steps }: FeatureProgress,
  status: FeatureStatus,
): TracedFeature {
  return {
    feature_id: feature.feature_id,
    title: feature.title,
    intent: feature.intent,
    status,
    parent: (feature.parent ?? state?.parent)?.feature ?? null,
    children: [...(state?.children.keys() ?? [])],
    chain: steps.map((step) => ({
      edge: step.edge,
      stage: step.transition.target,
      status: step.status,
      started_at: step.state?.started_at ?? null,
      converged_at: step.state?.converged_at ?? null,
      agent_id: step.state?.agent_id ?? null,
      positions: { ...(step.state?.positions ?? { started: null, last: null, converged: null }) },
    })),
  };
}

function traceGaps({ row: { feature }, steps }: FeatureProgress): string[] {
  const gaps = feature.intent === null ? [`${feature.feature_id} names no intent`] : [];
  for (const { edge, transition, optional, status, state } of steps) {
    if (!optional && status === 'pending') gaps.push(`${feature.feature_id} has no ${transition.target} yet`);
    if (state?.has_unproven_convergence)
      gaps.push(`${edge} of ${feature.feature_id} reports convergence without evidence`);
  }
  return gaps;
}
