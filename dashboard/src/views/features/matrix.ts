import type { MethodologyStatus } from '../../../../src/core/contract/methodology-views.js';
import { actorName } from '../../model/actor-name.js';

type Feature = MethodologyStatus['features'][number];

/** The progress of a feature on an edge, as a word and a colour. */
export interface MatrixCell {
  readonly edge: string;
  readonly word: string;
  readonly tone: 'good' | 'accent' | 'warn' | 'bad' | 'plain';
  /** Details about the word, for a tooltip. */
  readonly hint: string;
  /** The agents that work on the edge. */
  readonly agents: readonly string[];
  readonly isOptional: boolean;
  /** Whether `gen start` would continue here. */
  readonly isNext: boolean;
}

export interface FeatureMatrix {
  /** The edges that some feature has, in the order of the graph. */
  readonly columns: readonly { readonly edge: string; readonly stage: string }[];
  /** A cell per column; null: the feature's profile does not have that edge. */
  readonly rows: readonly { readonly feature: Feature; readonly cells: readonly (MatrixCell | null)[] }[];
}

export function matrixOf(status: MethodologyStatus): FeatureMatrix {
  const stageOf = new Map<string, string>();
  for (const { you_are_here } of status.features)
    for (const { edge, stage } of you_are_here) stageOf.set(edge, stage);
  const order = new Map(status.coverage.map(({ edge }, index) => [edge, index]));
  const edgeRank = (edge: string): number => order.get(edge) ?? order.size;
  const columns = [...stageOf]
    .map(([edge, stage]) => ({ edge, stage }))
    .sort((one, other) => edgeRank(one.edge) - edgeRank(other.edge));
  const rows = status.features.map((feature) => ({
    feature,
    cells: columns.map(({ edge }) => cellOf(status, feature, edge)),
  }));
  return { columns, rows };
}

function cellOf(status: MethodologyStatus, feature: Feature, edge: string): MatrixCell | null {
  const stage = feature.you_are_here.find((each) => each.edge === edge);
  if (stage === undefined) return null;
  const { feature_id } = feature;
  const claims = status.claims.filter((claim) => claim.feature_id === feature_id && claim.edge === edge);
  const { start_would } = status;
  return {
    edge,
    ...wordOf(status, feature, stage),
    agents: claims.map(({ agent_id }) => actorName(agent_id)),
    isOptional: stage.optional,
    isNext: start_would.feature === feature_id && start_would.edge === edge,
  };
}

type CellWord = Pick<MatrixCell, 'word' | 'tone' | 'hint'>;

function wordOf(
  { pending_reviews }: MethodologyStatus,
  feature: Feature,
  { edge, mark }: Feature['you_are_here'][number],
): CellWord {
  const { feature_id, status, current_edge, iteration, delta, waits_for } = feature;
  if (mark === '✓') return { word: 'converged', tone: 'good', hint: 'All required checks passed.' };
  const review = pending_reviews.find((each) => each.feature_id === feature_id && each.edge === edge);
  if (review !== undefined) return { word: 'review pending', tone: 'warn', hint: review.says };
  if (mark === '✗') return { word: 'blocked', tone: 'bad', hint: waits_for ?? 'It cannot continue.' };
  if (edge !== current_edge)
    return mark === '●'
      ? { word: 'iterating', tone: 'accent', hint: 'In progress.' }
      : { word: 'pending', tone: 'plain', hint: 'Not started.' };
  if (status === 'stuck')
    return { word: 'stuck', tone: 'bad', hint: `The delta does not shrink after ${iteration} iterations.` };
  if (status === 'pending_review')
    return { word: 'review pending', tone: 'warn', hint: 'A person must decide.' };
  if (status === 'blocked') return { word: 'blocked', tone: 'bad', hint: waits_for ?? 'It cannot continue.' };
  if (mark === '○') return { word: 'pending', tone: 'plain', hint: 'Not started. It comes next.' };
  return {
    word: iteration === 0 ? 'iterating' : `iterating ${iteration}`,
    tone: 'accent',
    hint: delta === null ? `Iteration ${iteration}.` : `Iteration ${iteration}, delta ${delta}.`,
  };
}
