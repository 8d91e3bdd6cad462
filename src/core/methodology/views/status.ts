import type {
  ClaimSummary,
  FeatureStage,
  FeatureSummary,
  MethodologyStatus,
  NextAction,
  StageCoverage,
  StatusMark,
} from '../../contract/methodology-views.js';
import type { RouteAdvice } from '../../contract/start.js';
import { FEATURE_STATUSES, type FeatureStatus, STATUS_MARKS } from '../../contract/values.js';
import {
  type FeatureProgress,
  type FeatureStep,
  isCountedStep,
  unconvergedSteps,
} from '../progress/feature-progress.js';
import type { RouteInput } from '../progress/feature-state.js';
import { convergedOffProfile } from '../progress/imported-convergence.js';
import { type ProjectProgress, projectProgressOf, stepObstacle } from '../progress/project-progress.js';
import { chooseRoute } from '../routing/choose-route.js';

const ACTIONS_MAX = 10;

/** Status of the whole project, and what `gen start` would recommend. */
export function statusView(input: RouteInput): MethodologyStatus {
  const { state, rows } = input;
  const project = projectProgressOf(input);
  const featureList = [...project.features.values()];
  const route = chooseRoute(input, project);
  const claims = rows.flatMap(claimSummaries);
  const pending_reviews = route.escalations.filter(({ kind }) => kind === 'review' || kind === 'escalation');
  const stale_claims = route.escalations.filter(({ kind }) => kind === 'stale_claim').length;
  return {
    position: state.position,
    last_updated: state.last_updated,
    state: route.state,
    start_would: {
      feature: route.feature,
      edge: route.edge,
      iteration: route.iteration,
      reasons: route.reasons,
      command: route.next,
    },
    project: projectTotals(featureList, project),
    features: featureList.map((progress) => featureSummary(progress, project)),
    signals: [...state.signals.values()],
    coverage: stageCoverage(input, featureList),
    claims,
    pending_reviews,
    health: { streams_lag_ms: 0, pending_reviews: pending_reviews.length, stale_claims },
    evidence: input.evidence,
    last_gaps: state.last_gaps,
    last_release: state.releases.at(-1) ?? null,
    next_actions: nextActions(route),
  };
}

/** The next actions: items that wait for a person come before the work of an agent. */
function nextActions({ escalations, feature, edge, iteration, reasons, next }: RouteAdvice): NextAction[] {
  const escalationActions = escalations.map((escalation) => ({
    says: escalation.says,
    command: escalation.next,
  }));
  if (feature === null && escalationActions.length > 0) return escalationActions.slice(0, ACTIONS_MAX);
  const message = feature === null ? (reasons.at(-1) ?? '') : `${feature} on ${edge}, iteration ${iteration}`;
  return [...escalationActions.slice(0, ACTIONS_MAX - 1), { says: message, command: next }];
}

export function featureSummary(progress: FeatureProgress, project: ProjectProgress): FeatureSummary {
  const { feature, state } = progress.row;
  const openSteps = unconvergedSteps(progress);
  const current = progress.isComplete
    ? null
    : (openSteps.find(({ state }) => state !== null) ?? openSteps[0] ?? null);
  const total = progress.steps.filter(isCountedStep).length;
  return {
    id: feature.feature_id,
    feature_id: feature.feature_id,
    title: feature.title,
    vector_type: feature.vector_type,
    profile: progress.profile.name,
    priority: feature.priority,
    requirements: feature.requirements,
    status: project.statusOf(progress),
    current_edge: current?.edge ?? null,
    iteration: current?.state?.iteration ?? 0,
    delta: current?.state?.delta ?? null,
    you_are_here: progress.steps.map(featureStage),
    edges_converged: total - openSteps.length,
    edges_total: total,
    off_profile: convergedOffProfile(progress),
    waits_for: waitText(progress, project),
    parent: feature.parent ?? state?.parent ?? null,
    children: [...(state?.children.values() ?? [])],
    dependencies: dependencyStatuses(progress, project),
    time_box: progress.time_box,
  };
}

function dependencyStatuses(
  { row }: FeatureProgress,
  { features, statusOf }: ProjectProgress,
): FeatureSummary['dependencies'] {
  return row.feature.dependencies.map(({ feature, asset }) => {
    const dependency = features.get(feature);
    return { feature, asset, status: dependency === undefined ? 'unknown' : statusOf(dependency) };
  });
}

function featureStage({ edge, transition, optional, status, state }: FeatureStep): FeatureStage {
  const { source, target, edge_type } = transition;
  const stage = edge_type === 'co_evolution' ? `${source}↔${target}` : target;
  return {
    stage,
    edge,
    optional,
    mark: STATUS_MARKS[status],
    started_at: state?.started_at ?? null,
    converged_at: state?.converged_at ?? null,
  };
}

function waitText(progress: FeatureProgress, project: ProjectProgress): string | null {
  if (progress.isComplete) return null;
  const obstacle = project.obstacleOf(progress);
  if (obstacle !== null) return obstacle.message;
  const openSteps = unconvergedSteps(progress).map((step) => ({
    step,
    obstacle: stepObstacle(progress, step),
  }));
  if (openSteps.some(({ obstacle }) => obstacle === null)) return null;
  const [first] = openSteps;
  return first === undefined ? null : `${first.step.edge}: ${first.obstacle?.message}`;
}

function projectTotals(
  features: readonly FeatureProgress[],
  { statusOf }: ProjectProgress,
): MethodologyStatus['project'] {
  const statuses = features.map(statusOf);
  const countOf = (status: FeatureStatus) =>
    statuses.filter((featureStatus) => featureStatus === status).length;
  const edges_total = features.flatMap(({ steps }) => steps.filter(isCountedStep)).length;
  const edges_remaining = features.flatMap(unconvergedSteps).length;
  const edges_completed = edges_total - edges_remaining;
  return {
    edges_completed,
    edges_remaining,
    edges_total,
    percent: percentOf(edges_completed, edges_total),
    active_features: features.filter(({ isComplete }) => !isComplete).length,
    features_by_status: Object.fromEntries(
      FEATURE_STATUSES.map((status) => [status, countOf(status)]),
    ) as Record<FeatureStatus, number>,
  };
}

export const percentOf = (part: number, whole: number): number =>
  whole === 0 ? 0 : Math.floor((part / whole) * 100);

const claimSummaries = ({ feature, claims }: RouteInput['rows'][number]): ClaimSummary[] =>
  [...claims].map(([edge, claim]) => ({ feature_id: feature.feature_id, edge, ...claim }));

/** Number of features per status at each stage of the graph, for the features whose profile includes the stage. */
function stageCoverage({ methodology }: RouteInput, features: readonly FeatureProgress[]): StageCoverage[] {
  const countByMark = new Map<string, number>();
  const markKey = (edge: string, mark: StatusMark): string => `${mark}${edge}`;
  for (const { steps } of features) {
    for (const step of steps) {
      const key = markKey(step.edge, STATUS_MARKS[step.status]);
      if (isCountedStep(step)) countByMark.set(key, (countByMark.get(key) ?? 0) + 1);
    }
  }
  return (methodology?.topology.transitions ?? []).map(({ edge, target }) => {
    const countOf = (mark: StatusMark): number => countByMark.get(markKey(edge, mark)) ?? 0;
    return {
      stage: target,
      edge,
      converged: countOf('✓'),
      at_work: countOf('●'),
      pending: countOf('○'),
      blocked: countOf('✗'),
    };
  });
}
