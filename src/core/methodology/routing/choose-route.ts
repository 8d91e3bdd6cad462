import { genCommand, newFeatureCommand } from '../definition/command.js';
import { canonicalEdge } from '../definition/edge-name.js';
import type { Methodology } from '../definition/methodology.js';
import { CONSTRAINTS_FILE } from '../definition/variables.js';
import type { FeatureProgress, FeatureStep } from '../progress/feature-progress.js';
import type { EdgeClaim } from '../progress/feature-state.js';
import { type ProjectProgress, projectProgressOf } from '../progress/project-progress.js';
import type { RouteInput } from '../progress/route-input.js';
import { escalationsOf } from './escalations.js';
import type { OverlappingWork, RouteAdvice, WorkspaceState } from './route.js';
import { chooseEdge, type RouteCandidate } from './route-edge.js';
import { openClaims, overlappingWork } from './route-overlap.js';
import { rankCandidates, rankingReason } from './route-ranking.js';
import { undecidedDimensions, workspaceState } from './route-state.js';

/**
 * Advises what to do next, with reasons. Writes and reserves nothing: only a claim decides. `knownProgress`: progress
 * of the same rows, if the caller has computed it.
 */
export function chooseRoute(rawInput: RouteInput, knownProgress?: ProjectProgress): RouteAdvice {
  const input = normalizeInput(rawInput);
  const projectProgress =
    knownProgress !== undefined && input.rows === rawInput.rows ? knownProgress : projectProgressOf(input);
  const state = workspaceState(input, projectProgress);
  const escalations = escalationsOf(input, projectProgress);
  const base: RouteAdvice = { ...EMPTY_ROUTE, state, escalations, reasons: escalationReasons(escalations) };
  const { methodology } = input;
  if (methodology === null) return { ...base, next: 'gen init', reasons: [STATE_REASONS.UNINITIALISED] };
  const preparation = setupStepFor(methodology, state);
  if (preparation !== null)
    return { ...base, ...preparation, reasons: [...base.reasons, ...preparation.reasons] };
  const refused = requestRefusal(input, methodology, projectProgress);
  if (refused !== null) return refusedRoute(base, refused);
  return chooseCandidate(base, input, methodology, projectProgress);
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

/** Canonicalises the edge name, and replaces the features' profile if the request names one. */
function normalizeInput(rawInput: RouteInput): RouteInput {
  const rows = rawInput.rows.every(isClaimable) ? rawInput.rows : rawInput.rows.filter(isClaimable);
  const input = { ...rawInput, rows };
  const { request, methodology } = input;
  const { edge, profile, feature } = request;
  const canonical = edge === undefined ? request : { ...request, edge: canonicalEdge(edge) };
  if (profile === undefined || !Object.hasOwn(methodology?.profiles ?? {}, profile)) {
    return { ...input, request: canonical };
  }
  const isMeant = (id: string): boolean => feature === undefined || feature === id;
  const rowsWithProfile = rows.map((row) =>
    isMeant(row.vector.feature_id) ? { ...row, vector: { ...row.vector, profile } } : row,
  );
  return { ...input, request: canonical, rows: rowsWithProfile };
}

/** Features known only from another tool's log can be viewed but not claimed. */
const isClaimable = ({ defined, vector }: RouteInput['rows'][number]): boolean =>
  defined || vector.parent !== null;

function escalationReasons(escalations: RouteAdvice['escalations']): string[] {
  const [first] = escalations;
  if (first === undefined) return [];
  const count = escalations.length === 1 ? 'one thing waits' : `${escalations.length} things wait`;
  return [`${count} for a human, first of all: ${first.says}`];
}

const STATE_REASONS: Readonly<Record<'UNINITIALISED' | 'NEEDS_INTENT' | 'NO_FEATURES', string>> = {
  UNINITIALISED: 'nobody has initialised this project yet',
  NEEDS_INTENT: 'nobody has written down yet what the project is for',
  NO_FEATURES: 'the project has no features yet',
};

/** The setup step required before any feature can continue; null if none is. */
function setupStepFor(
  methodology: Methodology,
  state: WorkspaceState,
): Pick<RouteAdvice, 'reasons' | 'next'> | null {
  if (state === 'NEEDS_CONSTRAINTS') {
    const message = `a feature has come to its design, and the project has not decided: ${undecidedDimensions(methodology).join(', ')}`;
    return {
      reasons: [message],
      next: `fill in constraint_dimensions in ${CONSTRAINTS_FILE}`,
    };
  }
  if (state === 'NEEDS_INTENT')
    return { reasons: [STATE_REASONS[state]], next: 'write specification/INTENT.md' };
  if (state === 'NO_FEATURES')
    return { reasons: [STATE_REASONS[state]], next: newFeatureCommand('--reason', 'what it is for') };
  return null;
}

const refusedRoute = (base: RouteAdvice, message: string, more: Partial<RouteAdvice> = {}): RouteAdvice => ({
  ...base,
  refused: message,
  reasons: [...base.reasons, message],
  next: base.escalations[0]?.next ?? 'gen status',
  ...more,
});

/** Why the request names something that does not exist; null if everything exists. */
function requestRefusal(
  { request }: RouteInput,
  methodology: Methodology,
  projectProgress: ProjectProgress,
): string | null {
  const { feature, edge, profile } = request;
  if (feature !== undefined && !projectProgress.features.has(feature)) {
    return `there is no feature ${feature}; known are ${joinNames([...projectProgress.features.keys()])}`;
  }
  if (profile !== undefined && !Object.hasOwn(methodology.profiles, profile)) {
    return `there is no profile ${profile}; known are ${joinNames(Object.keys(methodology.profiles))}`;
  }
  const edges = methodology.topology.transitions.map((transition) => transition.edge);
  if (edge !== undefined && !edges.includes(edge))
    return `there is no edge ${edge}; known are ${joinNames(edges)}`;
  const progress = feature === undefined ? undefined : projectProgress.features.get(feature);
  if (progress === undefined) return null;
  if (progress.isComplete) return `${feature} is finished: every edge of its profile has converged`;
  if (edge === undefined || progress.steps.some((step) => step.edge === edge)) return null;
  return `the profile ${progress.profile.name} of ${feature} leaves out ${edge}`;
}

const NAMES_SHOWN_MAX = 20;
const joinNames = (names: readonly string[]): string =>
  names.length === 0
    ? 'none'
    : names.slice(0, NAMES_SHOWN_MAX).join(', ') + (names.length > NAMES_SHOWN_MAX ? ' …' : '');

function chooseCandidate(
  base: RouteAdvice,
  input: RouteInput,
  methodology: Methodology,
  projectProgress: ProjectProgress,
): RouteAdvice {
  const { request } = input;
  const skipped: RouteAdvice['skipped'][number][] = [];
  const candidates: RouteCandidate[] = [];
  for (const progress of incompleteFeatures(projectProgress, request.feature)) {
    const choice = chooseEdge(projectProgress, progress, request);
    skipped.push(...choice.skipped);
    if (choice.candidate !== null) candidates.push(choice.candidate);
  }
  const ranked = rankCandidates(candidates);
  const overlapping: OverlappingWork[] = [];
  for (const [at, candidate] of ranked.entries()) {
    const parallel = overlappingWork(input, candidate.progress.row.vector.feature_id);
    const overlap = parallel.find(({ inner_product }) => (inner_product ?? 0) > 0);
    if (overlap === undefined || !methodology.parallelism.enforce) {
      return routeToCandidate({ ...base, skipped, parallel }, input, candidate, ranked[at + 1]);
    }
    overlapping.push(...parallel);
    skipped.push({ feature: candidate.progress.row.vector.feature_id, edge: null, says: overlap.says });
  }
  return routeWithoutCandidate({ ...base, skipped, parallel: overlapping }, request);
}

const incompleteFeatures = ({ features }: ProjectProgress, feature: string | undefined): FeatureProgress[] =>
  [...features.values()].filter(
    ({ isComplete, row }) => !isComplete && (feature === undefined || row.vector.feature_id === feature),
  );

function routeToCandidate(
  base: RouteAdvice,
  input: RouteInput,
  { progress, step }: RouteCandidate,
  runnerUp: RouteCandidate | undefined,
): RouteAdvice {
  const { feature_id } = progress.row.vector;
  const isRequested = input.request.feature !== undefined;
  const optional = progress.steps.filter((one) => one.optional && one.state === null).map(({ edge }) => edge);
  const reasons = [
    ...base.reasons,
    isRequested ? `${feature_id} was asked for` : rankingReason({ progress, step }, runnerUp),
    `${step.edge} is the first edge of its profile ${progress.profile.name} that has not converged and can be worked on`,
    ...(step.claim?.state === 'lease_expired'
      ? [`the lease of ${step.claim.agent_id} on it has run out, so a claim takes it over`]
      : []),
    ...reviewReasons(step),
    ...(optional.length === 0 ? [] : [`optional and not begun: ${optional.join(', ')}`]),
    ...parallelReasons(base.parallel, openClaims(input).length),
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

/** A holder continues with a submission: a second claim of the same edge would be refused. */
function nextCommand(subject: string, claim: EdgeClaim | null, { agent_id }: RouteInput['request']): string {
  const isOwn = claim !== null && claim.agent_id === agent_id && claim.state !== 'lease_expired';
  return genCommand('task', isOwn ? 'submit' : 'claim', subject);
}

/** The next candidate must address what the reviewer said about the last one. */
function reviewReasons({ state }: FeatureStep): string[] {
  const review = state?.review ?? null;
  if (review === null || review.decision === 'APPROVED') return [];
  const outcome = review.decision === 'REJECTED' ? 'rejected the last candidate' : 'asked for changes';
  return [`${review.reviewer} ${outcome}${review.comment === null ? '' : `: ${review.comment}`}`];
}

function parallelReasons(parallel: readonly OverlappingWork[], claims: number): string[] {
  if (claims === 0) return ['no other agent has anything open'];
  if (parallel.length === 0) return [`it shares no module with what other agents have open (${claims})`];
  return parallel.map(({ says }) => says);
}

function routeWithoutCandidate(base: RouteAdvice, request: RouteInput['request']): RouteAdvice {
  if (base.parallel.length > 0) {
    return refusedRoute(
      base,
      `parallelism is enforced: ${base.parallel.map(({ says: message }) => message).join('; ')}`,
    );
  }
  if (request.feature !== undefined || request.edge !== undefined) {
    const what = [request.feature, request.edge].filter((one) => one !== undefined).join(' on ');
    const why = base.skipped
      .map((one) => `${one.edge ?? one.feature}: ${one.says}`)
      .slice(0, NAMES_SHOWN_MAX);
    return refusedRoute(
      base,
      `nothing can be done now for ${what}${why.length === 0 ? '' : ` (${why.join('; ')})`}`,
    );
  }
  if (base.state === 'ALL_CONVERGED') {
    return { ...base, reasons: [...base.reasons, 'every feature has converged'], next: 'gen gaps' };
  }
  const message = 'nothing can go on now: every feature is claimed, stuck or waits for something';
  // An intent starts new work; escalations that block existing features come before it.
  const first = base.escalations.find(({ kind }) => kind !== 'intent') ?? base.escalations[0];
  return { ...base, reasons: [...base.reasons, message], next: first?.next ?? 'gen status' };
}
