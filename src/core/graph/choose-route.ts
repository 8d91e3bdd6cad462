import { escalationsOf } from '../features/escalations.js';
import type { EdgeClaim } from '../features/feature-state.js';
import type { Standing, Step } from '../features/standing.js';
import { type Survey, surveyOf } from '../features/survey.js';
import { command, newFeature } from './command.js';
import { canonicalEdge } from './edge-name.js';
import type { Methodology } from './methodology.js';
import type { Route, RouteQuestion, SharedWork, WorkspaceState } from './route.js';
import { type Candidate, chooseEdge } from './route-edge.js';
import { openClaims, sharedWith } from './route-parallel.js';
import { undecided, workspaceState } from './route-state.js';
import { inOrder, whyFirst } from './route-tiers.js';
import { CONSTRAINTS_FILE } from './variables.js';

/**
 * Where to go next, and why. Writes nothing and promises nothing: only a claim decides. `known`: the survey of the
 * features as they are, for who has made one.
 */
export function route(asking: RouteQuestion, known?: Survey): Route {
  const question = normalised(asking);
  const survey = known !== undefined && question.rows === asking.rows ? known : surveyOf(question);
  const state = workspaceState(question, survey);
  const escalations = escalationsOf(question, survey);
  const base: Route = { ...NOWHERE, state, escalations, reasons: waitingReasons(escalations) };
  const { methodology } = question;
  if (methodology === null) return { ...base, next: 'gen init', reasons: [SAYS.UNINITIALISED] };
  const preparation = prepare(methodology, state);
  if (preparation !== null)
    return { ...base, ...preparation, reasons: [...base.reasons, ...preparation.reasons] };
  const refused = refusalOf(question, methodology, survey);
  if (refused !== null) return refuse(base, refused);
  return choose(base, question, methodology, survey);
}

const NOWHERE = {
  feature: null,
  edge: null,
  iteration: null,
  skipped: [],
  parallel: [],
  refused: null,
  next: '',
} as const;

/** Edges are meant by any spelling, and a profile insisted on stands in for the feature's own. */
function normalised(asking: RouteQuestion): RouteQuestion {
  const rows = asking.rows.every(isClaimable) ? asking.rows : asking.rows.filter(isClaimable);
  const question = { ...asking, rows };
  const { asked, methodology } = question;
  const { edge, profile, feature } = asked;
  const canonical = edge === undefined ? asked : { ...asked, edge: canonicalEdge(edge) };
  if (profile === undefined || !Object.hasOwn(methodology?.profiles ?? {}, profile)) {
    return { ...question, asked: canonical };
  }
  const meant = (id: string): boolean => feature === undefined || feature === id;
  const other = rows.map((row) =>
    meant(row.vector.feature_id) ? { ...row, vector: { ...row.vector, profile } } : row,
  );
  return { ...question, asked: canonical, rows: other };
}

/** What only another tool's log speaks of can be looked at, and not claimed. */
const isClaimable = ({ defined, vector }: RouteQuestion['rows'][number]): boolean =>
  defined || vector.parent !== null;

function waitingReasons(escalations: Route['escalations']): string[] {
  const [first] = escalations;
  if (first === undefined) return [];
  const count = escalations.length === 1 ? 'one thing waits' : `${escalations.length} things wait`;
  return [`${count} for a human, first of all: ${first.says}`];
}

const SAYS: Readonly<Record<'UNINITIALISED' | 'NEEDS_INTENT' | 'NO_FEATURES', string>> = {
  UNINITIALISED: 'nobody has initialised this project yet',
  NEEDS_INTENT: 'nobody has written down yet what the project is for',
  NO_FEATURES: 'the project has no features yet',
};

/** States in which there is something to settle before any feature can go on. */
function prepare(methodology: Methodology, state: WorkspaceState): Pick<Route, 'reasons' | 'next'> | null {
  if (state === 'NEEDS_CONSTRAINTS') {
    const says = `a feature has come to its design, and the project has not decided: ${undecided(methodology).join(', ')}`;
    return {
      reasons: [says],
      next: `fill in constraint_dimensions in ${CONSTRAINTS_FILE}`,
    };
  }
  if (state === 'NEEDS_INTENT') return { reasons: [SAYS[state]], next: 'write specification/INTENT.md' };
  if (state === 'NO_FEATURES')
    return { reasons: [SAYS[state]], next: newFeature('--reason', 'what it is for') };
  return null;
}

const refuse = (base: Route, says: string, more: Partial<Route> = {}): Route => ({
  ...base,
  refused: says,
  reasons: [...base.reasons, says],
  next: base.escalations[0]?.next ?? 'gen status',
  ...more,
});

/** What was insisted on and is not there. */
function refusalOf({ asked }: RouteQuestion, methodology: Methodology, survey: Survey): string | null {
  const { feature, edge, profile } = asked;
  if (feature !== undefined && !survey.standings.has(feature)) {
    return `there is no feature ${feature}; known are ${listed([...survey.standings.keys()])}`;
  }
  if (profile !== undefined && !Object.hasOwn(methodology.profiles, profile)) {
    return `there is no profile ${profile}; known are ${listed(Object.keys(methodology.profiles))}`;
  }
  const edges = methodology.topology.transitions.map((transition) => transition.edge);
  if (edge !== undefined && !edges.includes(edge))
    return `there is no edge ${edge}; known are ${listed(edges)}`;
  const standing = feature === undefined ? undefined : survey.standings.get(feature);
  if (standing === undefined) return null;
  if (standing.complete) return `${feature} is finished: every edge of its profile has converged`;
  if (edge === undefined || standing.steps.some((step) => step.edge === edge)) return null;
  return `the profile ${standing.profile.name} of ${feature} leaves out ${edge}`;
}

const LISTED_MAX = 20;
const listed = (names: readonly string[]): string =>
  names.length === 0
    ? 'none'
    : names.slice(0, LISTED_MAX).join(', ') + (names.length > LISTED_MAX ? ' …' : '');

function choose(base: Route, question: RouteQuestion, methodology: Methodology, survey: Survey): Route {
  const { asked } = question;
  const skipped: Route['skipped'][number][] = [];
  const candidates: Candidate[] = [];
  for (const standing of activeOf(survey, asked.feature)) {
    const choice = chooseEdge(survey, standing, asked);
    skipped.push(...choice.skipped);
    if (choice.candidate !== null) candidates.push(choice.candidate);
  }
  const ordered = inOrder(candidates);
  const forbidden: SharedWork[] = [];
  for (const [at, candidate] of ordered.entries()) {
    const parallel = sharedWith(question, candidate.standing.row.vector.feature_id);
    const shares = parallel.find(({ inner_product }) => (inner_product ?? 0) > 0);
    if (shares === undefined || !methodology.parallelism.enforce) {
      return chosen({ ...base, skipped, parallel }, question, candidate, ordered[at + 1]);
    }
    forbidden.push(...parallel);
    skipped.push({ feature: candidate.standing.row.vector.feature_id, edge: null, says: shares.says });
  }
  return nothingToDo({ ...base, skipped, parallel: forbidden }, asked);
}

const activeOf = ({ standings }: Survey, feature: string | undefined): Standing[] =>
  [...standings.values()].filter(
    ({ complete, row }) => !complete && (feature === undefined || row.vector.feature_id === feature),
  );

function chosen(
  base: Route,
  question: RouteQuestion,
  { standing, step }: Candidate,
  second: Candidate | undefined,
): Route {
  const { feature_id } = standing.row.vector;
  const insisted = question.asked.feature !== undefined;
  const optional = standing.steps.filter((one) => one.optional && one.state === null).map(({ edge }) => edge);
  const reasons = [
    ...base.reasons,
    insisted ? `${feature_id} was asked for` : whyFirst({ standing, step }, second),
    `${step.edge} is the first edge of its profile ${standing.profile.name} that has not converged and can be worked on`,
    ...(step.claim?.state === 'lease_expired'
      ? [`the lease of ${step.claim.agent_id} on it has run out, so a claim takes it over`]
      : []),
    ...reviewReasons(step),
    ...(optional.length === 0 ? [] : [`optional and not begun: ${optional.join(', ')}`]),
    ...parallelReasons(base.parallel, openClaims(question).length),
  ];
  return {
    ...base,
    feature: feature_id,
    edge: step.edge,
    iteration: (step.state?.iteration ?? 0) + 1,
    reasons,
    next: nextFor(`${feature_id}#${step.edge}`, step.claim, question.asked),
  };
}

/** Who holds the edge already goes on with it: to claim it again would be refused. */
function nextFor(subject: string, claim: EdgeClaim | null, { agent_id }: RouteQuestion['asked']): string {
  const is_own = claim !== null && claim.agent_id === agent_id && claim.state !== 'lease_expired';
  return command('task', is_own ? 'submit' : 'claim', subject);
}

/** What a human said of the last candidate is what the next one is made for. */
function reviewReasons({ state }: Step): string[] {
  const review = state?.review ?? null;
  if (review === null || review.decision === 'APPROVED') return [];
  const did = review.decision === 'REJECTED' ? 'rejected the last candidate' : 'asked for changes';
  return [`${review.reviewer} ${did}${review.comment === null ? '' : `: ${review.comment}`}`];
}

function parallelReasons(parallel: readonly SharedWork[], claims: number): string[] {
  if (claims === 0) return ['no other agent has anything open'];
  if (parallel.length === 0) return [`it shares no module with what other agents have open (${claims})`];
  return parallel.map(({ says }) => says);
}

function nothingToDo(base: Route, asked: RouteQuestion['asked']): Route {
  if (base.parallel.length > 0) {
    return refuse(base, `parallelism is enforced: ${base.parallel.map(({ says }) => says).join('; ')}`);
  }
  if (asked.feature !== undefined || asked.edge !== undefined) {
    const what = [asked.feature, asked.edge].filter((one) => one !== undefined).join(' on ');
    const why = base.skipped.map((one) => `${one.edge ?? one.feature}: ${one.says}`).slice(0, LISTED_MAX);
    return refuse(
      base,
      `nothing can be done now for ${what}${why.length === 0 ? '' : ` (${why.join('; ')})`}`,
    );
  }
  if (base.state === 'ALL_CONVERGED') {
    return { ...base, reasons: [...base.reasons, 'every feature has converged'], next: 'gen gaps' };
  }
  const says = 'nothing can go on now: every feature is claimed, stuck or waits for something';
  // An intent begins something new; what is in the way of the features there are comes before it.
  const first = base.escalations.find(({ kind }) => kind !== 'intent') ?? base.escalations[0];
  return { ...base, reasons: [...base.reasons, says], next: first?.next ?? 'gen status' };
}
