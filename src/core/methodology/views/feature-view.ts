import type { FeatureView, TrajectoryEntry } from '../../contract/methodology-views.js';
import { effectiveTimeBox, type FeatureStep } from '../progress/feature-progress.js';
import type { RouteInput } from '../progress/feature-state.js';
import { projectProgressOf } from '../progress/project-progress.js';
import { isDimensionDecided } from '../routing/route-state.js';
import { featureSummary } from './status.js';

/** Details of one feature; null if it does not exist. */
export function featureView(input: RouteInput, featureId: string): FeatureView | null {
  const projectProgress = projectProgressOf(input);
  const progress = projectProgress.features.get(featureId);
  if (progress === undefined) return null;
  const { feature, state } = progress.row;
  const trajectory = progress.steps.map(trajectoryEntry);
  return {
    ...featureSummary(progress, projectProgress),
    intent: feature.intent,
    trajectory,
    constraint_dimensions: dimensionStatuses(input),
    time_box_rule: effectiveTimeBox(progress.row),
    context_hash: trajectory.findLast((entry) => entry.context_hash !== null)?.context_hash ?? null,
    last_event_at: state?.last_event_at ?? null,
    last_position: state?.last_position ?? null,
  };
}

function trajectoryEntry({ edge, optional, status, stuck, state }: FeatureStep): TrajectoryEntry {
  return {
    edge,
    optional,
    status,
    stuck,
    iteration: state?.iteration ?? 0,
    delta: state?.delta ?? null,
    deltas: state?.deltas ?? [],
    started_at: state?.started_at ?? null,
    converged_at: state?.converged_at ?? null,
    convergence_type: state?.convergence_type ?? null,
    imported: state?.imported ?? false,
    agent_id: state?.agent_id ?? null,
    agent_role: state?.agent_role ?? null,
    blocked_by: state?.blocked_by ?? null,
    hold: state?.hold ?? null,
    context_hash: state?.context_hash ?? null,
    evaluators: state?.evaluators ?? null,
    failing: [...(state?.failing ?? [])].map(([check, times_in_a_row]) => ({ check, times_in_a_row })),
  };
}

function dimensionStatuses({ methodology }: RouteInput): FeatureView['constraint_dimensions'] {
  const decisions = methodology?.constraints.constraint_dimensions ?? {};
  return (methodology?.topology.constraint_dimensions ?? []).map(({ name, mandatory }) => ({
    name,
    mandatory,
    decided: isDimensionDecided(decisions, name),
  }));
}
