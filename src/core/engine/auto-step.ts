import type { Escalation } from '../contract/start.js';

/** An edge that `gen iterate --auto` may run. */
export interface AutoEdge {
  readonly feature_id: string;
  readonly edge: string;
  /** Without a constructor the engine cannot make a candidate. */
  readonly has_constructor: boolean;
}

/** Why no edge is run now, with what a person can do about it. */
export interface AutoAdvice {
  readonly says: string;
  /** The command to run; empty if there is none. */
  readonly next: string;
}

export interface AutoFacts {
  /** Only this feature is worked on; null: all. */
  readonly feature_id: string | null;
  /** `--loop`: if a person is needed, other edges are run meanwhile; if there are none, the command waits for changes. */
  readonly is_loop: boolean;
  /** The edge that the command line names; null if it names none, or once that edge has been run. */
  readonly first: AutoEdge | null;
  /** Edges with a run of this executor that is open and waits for no review: it was interrupted, or its review is over. */
  readonly unfinished: readonly AutoEdge[];
  /** Edges with a requested run. */
  readonly requested: readonly AutoEdge[];
  /** Edges that `gen start` recommends, best first. */
  readonly recommended: readonly AutoEdge[];
  readonly escalations: readonly Escalation[];
  /** Why `gen start` recommends no edge, with the command to run; null if it recommends one. */
  readonly nothing_recommended: AutoAdvice | null;
  /**
   * Edges, as subjects, that this command has run or tried to run, and that have not converged. With `--loop` an edge is
   * removed from the set when others change something about it or about the project as a whole.
   */
  readonly set_aside: ReadonlySet<string>;
  /** Why a person is needed after the run that ended last; null if none is needed. */
  readonly pause: AutoAdvice | null;
  /** The number of runs so far. */
  readonly runs: number;
  /** The feature of the run that ended last; null before the first run. */
  readonly last_feature_id: string | null;
}

type AutoStep =
  | { readonly kind: 'RUN'; readonly edge: AutoEdge }
  | ({ readonly kind: 'PAUSE' } & AutoAdvice)
  | { readonly kind: 'WAIT'; readonly says: string }
  | { readonly kind: 'DONE'; readonly says: string }
  /** An edge is ready, but the limit of runs is reached. */
  | { readonly kind: 'LIMIT'; readonly says: string };

/** The limit of runs without `--loop`: more than a project needs. */
export const AUTO_RUNS_MAX = 10_000;

/**
 * Decides what `gen iterate --auto` does next. In this order: pause because of the run that ended last or of an expired
 * time box; run the named edge, an unfinished run, a requested run, a recommended edge (or stop at the limit of runs);
 * pause for a person; end. With `--loop` it never pauses, stops or ends: if no edge can be run, it waits.
 */
export function nextAutoStep(facts: AutoFacts): AutoStep {
  const { pause, is_loop: isLoop, first, unfinished, requested, recommended } = facts;
  if (pause !== null && !isLoop) return { kind: 'PAUSE', ...pause };
  const expiredTimeBox = expiredTimeBoxOfWork(facts);
  if (expiredTimeBox !== undefined && !isLoop) return pauseFor(expiredTimeBox);
  const namedEdges = first === null ? [] : [first];
  const openEdges = [...namedEdges, ...unfinished, ...requested, ...recommended].filter((edge) =>
    isOpen(facts, edge),
  );
  const edge = openEdges.find(({ has_constructor }) => has_constructor);
  if (edge !== undefined) {
    if (isLoop || facts.runs < AUTO_RUNS_MAX) return { kind: 'RUN', edge };
    return { kind: 'LIMIT', says: limitText(edge) };
  }
  const subjectsWithoutConstructor = [...new Set(openEdges.map(subjectOf))];
  const says =
    subjectsWithoutConstructor.length === 0
      ? nothingReadyText(facts)
      : noConstructorText(subjectsWithoutConstructor);
  if (isLoop) return { kind: 'WAIT', says };
  const waitingEscalation = facts.escalations.find(
    (one) => one.kind !== 'intent' && isInScope(facts, one.feature_id),
  );
  return waitingEscalation === undefined ? { kind: 'DONE', says } : pauseFor(waitingEscalation);
}

const subjectOf = ({ feature_id, edge }: AutoEdge): string => `${feature_id}#${edge}`;

const limitText = (next: AutoEdge): string =>
  `Stopped after ${AUTO_RUNS_MAX} runs, the limit without --loop. The next edge would be ${subjectOf(next)}. ` +
  'See whether the same edges were run again and again: gen runs. To continue, run the command again.';

const pauseFor = ({ says, next }: Escalation): AutoStep => ({ kind: 'PAUSE', says: `${says}.`, next });

const isInScope = ({ feature_id }: AutoFacts, feature: string | null): boolean =>
  feature_id === null || feature_id === feature;

const isOpen = (facts: AutoFacts, edge: AutoEdge): boolean =>
  isInScope(facts, edge.feature_id) &&
  !facts.set_aside.has(subjectOf(edge)) &&
  !facts.escalations.some((one) => one.kind === 'time_box' && one.feature_id === edge.feature_id);

/** The expired time box of the requested feature, of the feature of the named edge, or of the feature of the last run. */
function expiredTimeBoxOfWork({ escalations, feature_id, first, last_feature_id }: AutoFacts) {
  const workedFeatureIds = [feature_id, first?.feature_id, last_feature_id];
  return escalations.find((one) => one.kind === 'time_box' && workedFeatureIds.includes(one.feature_id));
}

const nothingReadyText = ({ nothing_recommended: why }: AutoFacts): string =>
  why === null ? 'Nothing is ready.' : `Nothing is ready: ${why.says}. Next: ${why.next}`;

const NAMES_MAX = 5;

function noConstructorText(subjects: readonly string[]): string {
  const more = subjects.length > NAMES_MAX ? ` and ${subjects.length - NAMES_MAX} more` : '';
  const names = subjects.slice(0, NAMES_MAX).join(', ') + more;
  return `Nothing is ready for the engine. Edges without a constructor: ${names}. Set construct in .ai-workspace/engine.yml or in the file of the edge.`;
}
