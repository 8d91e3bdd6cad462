import type { FeatureProgress, StepStatus } from '../progress/feature-progress.js';
import { type FeatureStatus, projectProgressOf } from '../progress/project-progress.js';
import type { RouteInput } from '../progress/route-input.js';

export interface TraceStep {
  readonly edge: string;
  readonly stage: string;
  readonly status: StepStatus;
  readonly started_at: string | null;
  readonly converged_at: string | null;
  readonly agent_id: string | null;
  readonly positions: {
    readonly started: number | null;
    readonly last: number | null;
    readonly converged: number | null;
  };
}

export interface TracedFeature {
  readonly feature_id: string;
  readonly title: string;
  readonly intent: string | null;
  readonly status: FeatureStatus;
  readonly parent: string | null;
  readonly children: readonly string[];
  /** In the order of work, along the feature's profile. */
  readonly chain: readonly TraceStep[];
}

export interface RequirementTrace {
  readonly requirement: string;
  readonly features: readonly TracedFeature[];
  readonly gaps: readonly string[];
}

/** Traces a requirement: the features that deliver it, and their progress at each stage. */
export function traceView(input: RouteInput, requirement: string): RequirementTrace {
  const projectProgress = projectProgressOf(input);
  const delivering = [...projectProgress.features.values()].filter(
    ({ row: { vector } }) => vector.feature_id === requirement || vector.requirements.includes(requirement),
  );
  const gaps =
    delivering.length === 0 ? [`no feature delivers ${requirement}`] : delivering.flatMap(traceGaps);
  const features = delivering.map((progress) => tracedFeature(progress, projectProgress.statusOf(progress)));
  return { requirement, features, gaps };
}

function tracedFeature(
  { row: { vector, state }, steps }: FeatureProgress,
  status: FeatureStatus,
): TracedFeature {
  return {
    feature_id: vector.feature_id,
    title: vector.title,
    intent: vector.intent,
    status,
    parent: (vector.parent ?? state?.parent)?.feature ?? null,
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

function traceGaps({ row: { vector }, steps }: FeatureProgress): string[] {
  const gaps = vector.intent === null ? [`${vector.feature_id} names no intent`] : [];
  for (const { edge, transition, optional, status, state } of steps) {
    if (!optional && status === 'pending') gaps.push(`${vector.feature_id} has no ${transition.target} yet`);
    if (state?.unproven) gaps.push(`${edge} of ${vector.feature_id} calls itself converged without evidence`);
  }
  return gaps;
}
