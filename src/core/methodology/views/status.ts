import {
  type FeatureProgress,
  type FeatureStep,
  isCountedStep,
  unconvergedSteps,
} from '../progress/feature-progress.js';
import type { EdgeClaim, GapsSummary, MethodologySignal, ReleaseSummary } from '../progress/feature-state.js';
import {
  FEATURE_STATUSES,
  type FeatureStatus,
  type ProjectProgress,
  projectProgressOf,
  stepObstacle,
} from '../progress/project-progress.js';
import type { RouteInput } from '../progress/route-input.js';
import { chooseRoute } from '../routing/choose-route.js';
import type { Escalation, RouteAdvice, WorkspaceState } from '../routing/route.js';

/** Converged, in work, pending, blocked. */
export type StatusMark = '✓' | '●' | '○' | '✗';

/** One stage of a feature; a co-evolution is one stage. */
export interface TrackStop {
  readonly stage: string;
  readonly edge: string;
  readonly optional: boolean;
  readonly mark: StatusMark;
}

/**
 * Health fields that tools of this family expect of every service: the lag of its view, pending reviews and stale
 * claims.
 */
export interface ServiceHealth {
  /** Always 0: views are folded from the log itself up to their position, without a stream. */
  readonly streams_lag_ms: 0;
  readonly pending_reviews: number;
  readonly stale_claims: number;
}

export interface FeatureSummary {
  /** Same as feature_id, under the name that tools of this family read. */
  readonly id: string;
  readonly feature_id: string;
  readonly title: string;
  readonly vector_type: string;
  readonly profile: string;
  readonly priority: string;
  /** Requirement keys that the feature delivers. */
  readonly requirements: readonly string[];
  readonly status: FeatureStatus;
  readonly current_edge: string | null;
  /** Completed iterations on the current edge, and its last delta. */
  readonly iteration: number;
  readonly delta: number | null;
  readonly you_are_here: readonly TrackStop[];
  readonly edges_converged: number;
  readonly edges_total: number;
  /** Why the feature cannot continue; null if it can. */
  readonly waits_for: string | null;
  readonly time_box: { readonly status: string; readonly elapsed: number };
}

export interface ClaimSummary extends EdgeClaim {
  readonly feature_id: string;
  readonly edge: string;
}

export interface StageCoverage {
  readonly stage: string;
  readonly edge: string;
  readonly converged: number;
  readonly at_work: number;
  readonly pending: number;
  readonly blocked: number;
}

export interface NextAction {
  readonly says: string;
  readonly command: string;
}

export interface MethodologyStatus {
  readonly position: number;
  readonly last_updated: string | null;
  readonly state: WorkspaceState;
  readonly start_would: {
    readonly feature: string | null;
    readonly edge: string | null;
    readonly iteration: number | null;
    readonly reasons: readonly string[];
    readonly command: string;
  };
  readonly project: {
    readonly edges_completed: number;
    readonly edges_remaining: number;
    readonly edges_total: number;
    readonly percent: number;
    readonly active_features: number;
    readonly features_by_status: Readonly<Record<FeatureStatus, number>>;
  };
  readonly features: readonly FeatureSummary[];
  readonly signals: readonly MethodologySignal[];
  readonly coverage: readonly StageCoverage[];
  readonly claims: readonly ClaimSummary[];
  readonly pending_reviews: readonly Escalation[];
  readonly health: ServiceHealth;
  readonly last_gaps: GapsSummary | null;
  readonly last_release: ReleaseSummary | null;
  readonly next_actions: readonly NextAction[];
}

const ACTIONS_MAX = 10;

/** Status of the whole project, and what `start` would do. */
export function statusView(input: RouteInput): MethodologyStatus {
  const { state, rows } = input;
  const projectProgress = projectProgressOf(input);
  const featureList = [...projectProgress.features.values()];
  const next = chooseRoute(input, projectProgress);
  const claims = rows.flatMap(claimSummaries);
  const pending_reviews = next.escalations.filter(({ kind }) => kind === 'review' || kind === 'escalation');
  const stale_claims = next.escalations.filter(({ kind }) => kind === 'stale_claim').length;
  return {
    position: state.position,
    last_updated: state.last_updated,
    state: next.state,
    start_would: {
      feature: next.feature,
      edge: next.edge,
      iteration: next.iteration,
      reasons: next.reasons,
      command: next.next,
    },
    project: projectTotals(featureList, projectProgress),
    features: featureList.map((progress) => featureSummary(progress, projectProgress)),
    signals: [...state.signals.values()],
    coverage: stageCoverage(input, featureList),
    claims,
    pending_reviews,
    health: { streams_lag_ms: 0, pending_reviews: pending_reviews.length, stale_claims },
    last_gaps: state.last_gaps,
    last_release: state.releases.at(-1) ?? null,
    next_actions: nextActions(next),
  };
}

/** Items that wait for a human come before what an agent can do. */
function nextActions({ escalations, feature, edge, iteration, reasons, next }: RouteAdvice): NextAction[] {
  const waiting = escalations.map((one) => ({ says: one.says, command: one.next }));
  if (feature === null && waiting.length > 0) return waiting.slice(0, ACTIONS_MAX);
  const message = feature === null ? (reasons.at(-1) ?? '') : `${feature} on ${edge}, iteration ${iteration}`;
  return [...waiting.slice(0, ACTIONS_MAX - 1), { says: message, command: next }];
}

export function featureSummary(progress: FeatureProgress, projectProgress: ProjectProgress): FeatureSummary {
  const { vector } = progress.row;
  const open = unconvergedSteps(progress);
  const current = progress.isComplete ? null : (open.find(({ state }) => state !== null) ?? open[0] ?? null);
  const total = progress.steps.filter(isCountedStep).length;
  return {
    id: vector.feature_id,
    feature_id: vector.feature_id,
    title: vector.title,
    vector_type: vector.vector_type,
    profile: progress.profile.name,
    priority: vector.priority,
    requirements: vector.requirements,
    status: projectProgress.statusOf(progress),
    current_edge: current?.edge ?? null,
    iteration: current?.state?.iteration ?? 0,
    delta: current?.state?.delta ?? null,
    you_are_here: progress.steps.map(trackStop),
    edges_converged: total - open.length,
    edges_total: total,
    waits_for: waitReason(progress, projectProgress),
    time_box: progress.time_box,
  };
}

function trackStop({ edge, transition, optional, status }: FeatureStep): TrackStop {
  const { source, target, edge_type } = transition;
  const pathStep = edge_type === 'co_evolution' ? `${source}↔${target}` : target;
  return { stage: pathStep, edge, optional, mark: STATUS_MARKS[status] };
}

const STATUS_MARKS: Readonly<Record<FeatureStep['status'], StatusMark>> = {
  converged: '✓',
  iterating: '●',
  pending_review: '●',
  pending: '○',
  blocked: '✗',
};

function waitReason(progress: FeatureProgress, projectProgress: ProjectProgress): string | null {
  if (progress.isComplete) return null;
  const obstacle = projectProgress.obstacleOf(progress);
  if (obstacle !== null) return obstacle.message;
  const found = unconvergedSteps(progress).map((step) => ({ step, obstacle: stepObstacle(progress, step) }));
  if (found.some((one) => one.obstacle === null)) return null;
  const [first] = found;
  return first === undefined ? null : `${first.step.edge}: ${first.obstacle?.message}`;
}

function projectTotals(
  features: readonly FeatureProgress[],
  projectProgress: ProjectProgress,
): MethodologyStatus['project'] {
  const byStatus = Object.fromEntries(FEATURE_STATUSES.map((status) => [status, 0])) as Record<
    FeatureStatus,
    number
  >;
  let edges_total = 0;
  let edges_remaining = 0;
  for (const progress of features) {
    byStatus[projectProgress.statusOf(progress)] += 1;
    edges_total += progress.steps.filter(isCountedStep).length;
    edges_remaining += unconvergedSteps(progress).length;
  }
  const edges_completed = edges_total - edges_remaining;
  return {
    edges_completed,
    edges_remaining,
    edges_total,
    percent: percentOf(edges_completed, edges_total),
    active_features: features.filter(({ isComplete }) => !isComplete).length,
    features_by_status: byStatus,
  };
}

export const percentOf = (part: number, whole: number): number =>
  whole === 0 ? 0 : Math.floor((part / whole) * 100);

export const claimSummaries = ({ vector, claims }: RouteInput['rows'][number]): ClaimSummary[] =>
  [...claims].map(([edge, claim]) => ({ feature_id: vector.feature_id, edge, ...claim }));

/** Number of features per status at each stage of the graph, for features whose profile includes it. */
function stageCoverage({ methodology }: RouteInput, features: readonly FeatureProgress[]): StageCoverage[] {
  const countByMark = new Map<string, number>();
  const key = (edge: string, mark: StatusMark): string => `${mark}${edge}`;
  for (const { steps } of features) {
    for (const step of steps) {
      const at = key(step.edge, STATUS_MARKS[step.status]);
      if (isCountedStep(step)) countByMark.set(at, (countByMark.get(at) ?? 0) + 1);
    }
  }
  return (methodology?.topology.transitions ?? []).map(({ edge, target }) => {
    const countOf = (mark: StatusMark): number => countByMark.get(key(edge, mark)) ?? 0;
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
