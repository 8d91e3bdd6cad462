import type { OverlappingWork, RouteAdvice } from '../../contract/start.js';
import type { WorkspaceState } from '../../contract/values.js';
import { genCommand, newFeatureCommand } from '../definition/command.js';
import { canonicalEdge } from '../definition/edge-name.js';
import type { Methodology } from '../definition/methodology.js';
import { CONSTRAINTS_FILE } from '../definition/variables.js';
import type { FeatureStep } from '../progress/feature-progress.js';
import type { EdgeClaim, RouteInput } from '../progress/feature-state.js';
import { type ProjectProgress, projectProgressOf } from '../progress/project-progress.js';
import { escalationsOf } from './escalations.js';
import type { RouteOption } from './route-edge.js';
import { routeOptions } from './route-options.js';
import { claimsOfOthers, overlappingWork } from './route-overlap.js';
import { rankingText } from './route-ranking.js';
import { undecidedDimensions, workspaceState } from './route-state.js';

/**
 * Advises what to do next, with reasons. Writes and reserves nothing: only a claim decides. `knownProgress`: progress
 * of the same rows, if the caller has computed it.
 */
export function chooseRoute(rawInput: RouteInput, knownProgress?: ProjectProgress): RouteAdvice {
  const input = normalizeInput(rawInput);
  const canReuseProgress = knownProgress !== undefined && input.rows === rawInput.rows;
  const project = canReuseProgress ? { ...knownProgress, ...input } : projectProgressOf(input);
  const state = workspaceState(project);
  const escalations = escalationsOf(project);
  const base: RouteAdvice = { ...EMPTY_ROUTE, state, escalations, reasons: escalationReasons(escalations) };
  const { methodology } = input;
  if (methodology === null)
    return { ...base, next: 'gen init', reasons: ['the project is not initialised yet'] };
  const setup = setupStepFor(methodology, state);
  if (setup !== null) return withReason(base, setup.reason, setup.next);
  const refused = requestRefusal(project, methodology);
  return refused === null ? chooseOption(base, project) : refusedRoute(base, refused);
}

const EMPTY_ROUTE = {
  feature: null,
  edge: null,
  iteration: null,
  skipped: [],
  parallel: [],
  refused: null,
  next: '',
} as const;

/** Leaves out features that cannot be claimed, canonicalises the edge name, and applies a requested profile to the features. */
function normalizeInput(rawInput: RouteInput): RouteInput {
  const rows = rawInput.rows.every(isClaimable) ? rawInput.rows : rawInput.rows.filter(isClaimable);
  const input = { ...rawInput, rows };
  const { request, methodology } = input;
  const { edge, profile, feature } = request;
  const canonicalRequest = edge === undefined ? request : { ...request, edge: canonicalEdge(edge) };
  if (profile === undefined || !Object.hasOwn(methodology?.profiles ?? {}, profile)) {
    return { ...input, request: canonicalRequest };
  }
  const isRequested = (id: string): boolean => feature === undefined || feature === id;
  const rowsWithProfile = rows.map((row) =>
    isRequested(row.feature.feature_id) ? { ...row, feature: { ...row.feature, profile } } : row,
  );
  return { ...input, request: canonicalRequest, rows: rowsWithProfile };
}

/** Features known only from another tool's log can be viewed but not claimed. */
const isClaimable = ({ is_defined, feature }: RouteInput['rows'][number]): boolean =>
  is_defined || feature.parent !== null;

function escalationReasons(escalations: RouteAdvice['escalations']): string[] {
  const [first] = escalations;
  if (first === undefined) return [];
  const count = escalations.length === 1 ? '1 escalation waits' : `${escalations.length} escalations wait`;
  return [`${count} for a person; the first: ${first.says}`];
}

/** The setup step that is required before any feature can continue; null if none is required. */
function setupStepFor(
  methodology: Methodology,
  state: WorkspaceState,
): { readonly reason: string; readonly next: string } | null {
  switch (state) {
    case 'NEEDS_CONSTRAINTS':
      return {
        reason: `a feature has reached design, but mandatory constraint dimensions are undecided: ${undecidedDimensions(methodology).join(', ')}`,
        next: `fill in constraint_dimensions in ${CONSTRAINTS_FILE}`,
      };
    case 'NEEDS_INTENT':
      return { reason: 'the project has no intent yet', next: 'write specification/INTENT.md' };
    case 'NO_FEATURES': {
      const next = newFeatureCommand('--reason', 'what it is for');
      return { reason: 'the project has no features yet', next };
    }
    default:
      return null;
  }
}

const withReason = (base: RouteAdvice, reason: string, next: string): RouteAdvice => ({
  ...base,
  reasons: [...base.reasons, reason],
  next,
});

const refusedRoute = (base: RouteAdvice, refused: string): RouteAdvice =>
  withReason({ ...base, refused }, refused, base.escalations[0]?.next ?? 'gen status');

/**
 * Why the request cannot be followed: it names something unknown, a complete feature, or an edge outside the profile of the
 * feature. Null if it can.
 */
function requestRefusal({ request, features }: ProjectProgress, methodology: Methodology): string | null {
  const { feature, edge, profile } = request;
  if (feature !== undefined && !features.has(feature)) {
    return `unknown feature ${feature}; known features: ${joinNames([...features.keys()])}`;
  }
  if (profile !== undefined && !Object.hasOwn(methodology.profiles, profile)) {
    return `unknown profile ${profile}; known profiles: ${joinNames(Object.keys(methodology.profiles))}`;
  }
  const edges = methodology.topology.transitions.map((transition) => transition.edge);
  if (edge !== undefined && !edges.includes(edge))
    return `unknown edge ${edge}; known edges: ${joinNames(edges)}`;
  const progress = feature === undefined ? undefined : features.get(feature);
  if (progress === undefined) return null;
  if (progress.isComplete)
    return `${feature} is complete: every edge of its profile has converged, or it was folded back`;
  if (edge === undefined || progress.steps.some((step) => step.edge === edge)) return null;
  return `the profile ${progress.profile.name} of ${feature} does not include ${edge}`;
}

const NAMES_SHOWN_MAX = 20;
const joinNames = (names: readonly string[]): string =>
  names.length === 0
    ? 'none'
    : names.slice(0, NAMES_SHOWN_MAX).join(', ') + (names.length > NAMES_SHOWN_MAX ? ' …' : '');

function chooseOption(base: RouteAdvice, project: ProjectProgress): RouteAdvice {
  const { ranked, available, overlapping, skipped } = routeOptions(project);
  const [best] = available;
  if (best === undefined) {
    const decidedEdge = skipped.find(({ feature, edge }) => project.decided_edges?.has(`${feature}#${edge}`));
    if (decidedEdge !== undefined) return routeToDecidedRun({ ...base, skipped }, decidedEdge);
    return routeWithoutOption({ ...base, skipped, parallel: overlapping }, project.request);
  }
  const parallel = overlappingWork(project, best.progress.row.feature.feature_id);
  return routeToOption({ ...base, skipped, parallel }, project, best, ranked[ranked.indexOf(best) + 1]);
}

function routeToOption(
  base: RouteAdvice,
  input: RouteInput,
  { progress, step }: RouteOption,
  runnerUp: RouteOption | undefined,
): RouteAdvice {
  const { feature_id } = progress.row.feature;
  const { request } = input;
  const optionalEdges = progress.steps
    .filter((pathStep) => pathStep.optional && pathStep.state === null)
    .map(({ edge }) => edge);
  const reasons = [
    ...base.reasons,
    request.feature === undefined ? rankingText({ progress, step }, runnerUp) : `${feature_id} was requested`,
    `${step.edge} is the first edge of the profile ${progress.profile.name} that has not converged and can be worked on`,
    ...(step.claim?.state === 'lease_expired'
      ? [`the lease of ${step.claim.agent_id} on ${step.edge} has expired, so a claim takes the edge over`]
      : []),
    ...reviewReasons(step),
    ...(optionalEdges.length === 0 ? [] : [`optional and not started: ${optionalEdges.join(', ')}`]),
    ...parallelReasons(base.parallel, claimsOfOthers(input).length),
  ];
  return {
    ...base,
    feature: feature_id,
    edge: step.edge,
    iteration: (step.state?.iteration ?? 0) + 1,
    reasons,
    next: nextCommand(`${feature_id}#${step.edge}`, step.claim, input.request),
  };
}

/** The next command. The holder of the edge needs no second claim, and continues with a submission. */
function nextCommand(subject: string, claim: EdgeClaim | null, { agent_id }: RouteInput['request']): string {
  const isHolder = claim !== null && claim.agent_id === agent_id && claim.state !== 'lease_expired';
  return genCommand('task', isHolder ? 'submit' : 'claim', subject);
}

/** What the reviewer said about the last candidate, which the next candidate must address. */
function reviewReasons({ state }: FeatureStep): string[] {
  const review = state?.review ?? null;
  if (review === null || review.decision === 'APPROVED') return [];
  const outcome = review.decision === 'REJECTED' ? 'rejected the last candidate' : 'requested changes';
  const pushedBy = review.pushed_by === null ? '' : ` (according to ${review.pushed_by}, who pushed it)`;
  return [`${review.reviewer}${pushedBy} ${outcome}${review.comment === null ? '' : `: ${review.comment}`}`];
}

function parallelReasons(parallel: readonly OverlappingWork[], claimCount: number): string[] {
  if (claimCount === 0) return ['no other agent has an open claim'];
  if (parallel.length === 0)
    return [`it shares no module with the open claims of other agents (${claimCount})`];
  return parallel.map(({ says }) => says);
}

/** Advises to continue a run with `gen iterate`. The claim of its executor is still open, so a new claim would be refused. */
function routeToDecidedRun(
  base: RouteAdvice,
  { feature, edge }: RouteAdvice['skipped'][number],
): RouteAdvice {
  const subject = `${feature}#${edge}`;
  return withReason(base, `a person has decided on the run of ${subject}`, genCommand('iterate', subject));
}

function routeWithoutOption(base: RouteAdvice, { feature, edge }: RouteInput['request']): RouteAdvice {
  if (base.parallel.length > 0) {
    const overlaps = base.parallel.map(({ says }) => says).join('; ');
    return refusedRoute(
      base,
      `other agents hold claims on the same modules, and this project refuses such overlaps: ${overlaps}`,
    );
  }
  if (feature !== undefined || edge !== undefined) {
    const requested = [feature, edge].filter((name) => name !== undefined).join(' on ');
    const reasons = base.skipped.map((skipped) => `${skipped.edge ?? skipped.feature}: ${skipped.says}`);
    const details = reasons.length === 0 ? '' : ` (${reasons.slice(0, NAMES_SHOWN_MAX).join('; ')})`;
    return refusedRoute(base, `no work is available for ${requested}${details}`);
  }
  if (base.state === 'ALL_CONVERGED') return withReason(base, 'every feature has converged', 'gen gaps');
  // An intent starts new work; escalations that block existing features come before it.
  const first = base.escalations.find(({ kind }) => kind !== 'intent') ?? base.escalations[0];
  const message = 'no work is available: every feature is claimed, stuck or waiting';
  return withReason(base, message, first?.next ?? 'gen status');
}
