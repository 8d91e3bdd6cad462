import { route } from '../graph/choose-route.js';
import type { Escalation, Route, RouteQuestion, WorkspaceState } from '../graph/route.js';
import type { EdgeClaim, GapsFound, Release, Signal } from './feature-state.js';
import { counts, type Standing, type Step, unconverged } from './standing.js';
import { FEATURE_STATUSES, type FeatureStatus, type Survey, stepObstacle, surveyOf } from './survey.js';

/** Converged, at work, pending, blocked. */
export type Mark = '✓' | '●' | '○' | '✗';

/** One stop on the way of a feature; a co-evolution is one stop. */
export interface Stop {
  readonly stage: string;
  readonly edge: string;
  readonly optional: boolean;
  readonly mark: Mark;
}

/** What tools of this family ask of every service: how far behind its view is, and what waits or has gone silent. */
export interface ServiceHealth {
  /** Views are folded from the log itself, up to the position they name: there is no stream to wait for. */
  readonly streams_lag_ms: 0;
  readonly pending_reviews: number;
  readonly stale_claims: number;
}

export interface FeatureLine {
  /** The same as feature_id, under the name that tools of this family read. */
  readonly id: string;
  readonly feature_id: string;
  readonly title: string;
  readonly vector_type: string;
  readonly profile: string;
  readonly priority: string;
  /** Requirement keys that it delivers. */
  readonly requirements: readonly string[];
  readonly status: FeatureStatus;
  readonly current_edge: string | null;
  /** Iterations done on that edge, and the last number of failures there. */
  readonly iteration: number;
  readonly delta: number | null;
  readonly you_are_here: readonly Stop[];
  readonly edges_converged: number;
  readonly edges_total: number;
  /** Why it cannot go on, if it cannot. */
  readonly waits_for: string | null;
  readonly time_box: { readonly status: string; readonly elapsed: number };
}

export interface ClaimLine extends EdgeClaim {
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
  readonly features: readonly FeatureLine[];
  readonly signals: readonly Signal[];
  readonly coverage: readonly StageCoverage[];
  readonly claims: readonly ClaimLine[];
  readonly pending_reviews: readonly Escalation[];
  readonly health: ServiceHealth;
  readonly last_gaps: GapsFound | null;
  readonly last_release: Release | null;
  readonly next_actions: readonly NextAction[];
}

const ACTIONS_MAX = 10;

/** Where everything is, and what `start` would do. */
export function statusView(question: RouteQuestion): MethodologyStatus {
  const { state, rows } = question;
  const survey = surveyOf(question);
  const standings = [...survey.standings.values()];
  const next = route(question, survey);
  const claims = rows.flatMap(claimLines);
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
    project: rollup(standings, survey),
    features: standings.map((standing) => featureLine(standing, survey)),
    signals: [...state.signals.values()],
    coverage: coverageOf(question, standings),
    claims,
    pending_reviews,
    health: { streams_lag_ms: 0, pending_reviews: pending_reviews.length, stale_claims },
    last_gaps: state.last_gaps,
    last_release: state.releases.at(-1) ?? null,
    next_actions: nextActions(next),
  };
}

/** What waits for a human goes before what an agent can do. */
function nextActions({ escalations, feature, edge, iteration, reasons, next }: Route): NextAction[] {
  const waiting = escalations.map((one) => ({ says: one.says, command: one.next }));
  if (feature === null && waiting.length > 0) return waiting.slice(0, ACTIONS_MAX);
  const says = feature === null ? (reasons.at(-1) ?? '') : `${feature} on ${edge}, iteration ${iteration}`;
  return [...waiting.slice(0, ACTIONS_MAX - 1), { says, command: next }];
}

export function featureLine(standing: Standing, survey: Survey): FeatureLine {
  const { vector } = standing.row;
  const open = unconverged(standing);
  const current = standing.complete ? null : (open.find(({ state }) => state !== null) ?? open[0] ?? null);
  const total = standing.steps.filter(counts).length;
  return {
    id: vector.feature_id,
    feature_id: vector.feature_id,
    title: vector.title,
    vector_type: vector.vector_type,
    profile: standing.profile.name,
    priority: vector.priority,
    requirements: vector.requirements,
    status: survey.statusOf(standing),
    current_edge: current?.edge ?? null,
    iteration: current?.state?.iteration ?? 0,
    delta: current?.state?.delta ?? null,
    you_are_here: standing.steps.map(stop),
    edges_converged: total - open.length,
    edges_total: total,
    waits_for: waitsFor(standing, survey),
    time_box: standing.time_box,
  };
}

function stop({ edge, transition, optional, status }: Step): Stop {
  const { source, target, edge_type } = transition;
  const stage = edge_type === 'co_evolution' ? `${source}↔${target}` : target;
  return { stage, edge, optional, mark: MARKS[status] };
}

const MARKS: Readonly<Record<Step['status'], Mark>> = {
  converged: '✓',
  iterating: '●',
  pending_review: '●',
  pending: '○',
  blocked: '✗',
};

function waitsFor(standing: Standing, survey: Survey): string | null {
  if (standing.complete) return null;
  const obstacle = survey.obstacleOf(standing);
  if (obstacle !== null) return obstacle.says;
  const found = unconverged(standing).map((step) => ({ step, obstacle: stepObstacle(standing, step) }));
  if (found.some((one) => one.obstacle === null)) return null;
  const [first] = found;
  return first === undefined ? null : `${first.step.edge}: ${first.obstacle?.says}`;
}

function rollup(standings: readonly Standing[], survey: Survey): MethodologyStatus['project'] {
  const by_status = Object.fromEntries(FEATURE_STATUSES.map((status) => [status, 0])) as Record<
    FeatureStatus,
    number
  >;
  let edges_total = 0;
  let edges_remaining = 0;
  for (const standing of standings) {
    by_status[survey.statusOf(standing)] += 1;
    edges_total += standing.steps.filter(counts).length;
    edges_remaining += unconverged(standing).length;
  }
  const edges_completed = edges_total - edges_remaining;
  return {
    edges_completed,
    edges_remaining,
    edges_total,
    percent: percentOf(edges_completed, edges_total),
    active_features: standings.filter(({ complete }) => !complete).length,
    features_by_status: by_status,
  };
}

export const percentOf = (part: number, whole: number): number =>
  whole === 0 ? 0 : Math.floor((part / whole) * 100);

export const claimLines = ({ vector, claims }: RouteQuestion['rows'][number]): ClaimLine[] =>
  [...claims].map(([edge, claim]) => ({ feature_id: vector.feature_id, edge, ...claim }));

/** How many features have come through each stage of the graph, of those whose profile asks for it. */
function coverageOf({ methodology }: RouteQuestion, standings: readonly Standing[]): StageCoverage[] {
  const counted = new Map<string, number>();
  const key = (edge: string, mark: Mark): string => `${mark}${edge}`;
  for (const { steps } of standings) {
    for (const step of steps) {
      const at = key(step.edge, MARKS[step.status]);
      if (counts(step)) counted.set(at, (counted.get(at) ?? 0) + 1);
    }
  }
  return (methodology?.topology.transitions ?? []).map(({ edge, target }) => {
    const number = (mark: Mark): number => counted.get(key(edge, mark)) ?? 0;
    return {
      stage: target,
      edge,
      converged: number('✓'),
      at_work: number('●'),
      pending: number('○'),
      blocked: number('✗'),
    };
  });
}
