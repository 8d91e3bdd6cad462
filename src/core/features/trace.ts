import type { Methodology, VectorType } from '../graph/methodology.js';
import type { EdgeStatus, FeatureRow } from './feature-state.js';
import { edgesInOrder } from './progress.js';

export const TRACE_DIRECTIONS = ['forward', 'backward', 'both'] as const;
export type TraceDirection = (typeof TRACE_DIRECTIONS)[number];

export interface TracedEdge {
  readonly edge: string;
  /** What the edge makes. */
  readonly asset: string;
  readonly status: EdgeStatus | 'pending';
  readonly agent_id: string | null;
  readonly generation: number | null;
  readonly converged_at: string | null;
}
export interface TracedFeature {
  readonly feature_id: string;
  readonly title: string;
  readonly vector_type: VectorType;
  readonly parent: string | null;
  readonly children: readonly string[];
  /** In order of work. */
  readonly chain: readonly TracedEdge[];
}
/** From the intent of a requirement to what came of it, as far as the log knows. */
export interface Trace {
  readonly req: string;
  readonly direction: TraceDirection;
  readonly intents: readonly string[];
  readonly features: readonly TracedFeature[];
  /** What is missing on the way, a sentence each. */
  readonly gaps: readonly string[];
}

/** Backward: where it comes from, intents and parents. Forward: what came of it, edges and children. */
export function traceOf(
  req: string,
  direction: TraceDirection,
  rows: readonly FeatureRow[],
  methodology: Methodology,
): Trace {
  const delivering = rows.filter(
    ({ vector }) => vector.feature_id === req || vector.requirements.includes(req),
  );
  const intents = new Set(delivering.flatMap(({ vector }) => vector.intent ?? []));
  const features = delivering.map((row) => traced(row, direction, methodology));
  return {
    req,
    direction,
    intents: direction === 'forward' ? [] : [...intents].sort(),
    features,
    gaps: gapsOf(req, direction, delivering, features),
  };
}

function traced(row: FeatureRow, direction: TraceDirection, methodology: Methodology): TracedFeature {
  const { feature_id, title, vector_type, parent } = row.vector;
  const back = direction !== 'forward';
  const ahead = direction !== 'backward';
  return {
    feature_id,
    title,
    vector_type,
    parent: back ? (parent?.feature ?? row.state?.parent?.feature ?? null) : null,
    children: ahead ? [...(row.state?.children.keys() ?? [])] : [],
    chain: ahead ? chainOf(row, methodology) : [],
  };
}

function chainOf(row: FeatureRow, methodology: Methodology): TracedEdge[] {
  const { transitions } = methodology.topology;
  // An edge that nobody has to take, and nobody has taken, is no part of the way.
  const taken = edgesInOrder(row, methodology).filter(
    ({ optional, status }) => !optional || status !== 'pending',
  );
  return taken.map(({ edge, status }) => {
    const { agent_id = null, generation = null, converged_at = null } = row.state?.edges.get(edge) ?? {};
    const asset = transitions.find((each) => each.edge === edge)?.target ?? edge;
    return { edge, asset, status, agent_id, generation, converged_at };
  });
}

function gapsOf(
  req: string,
  direction: TraceDirection,
  rows: readonly FeatureRow[],
  features: readonly TracedFeature[],
): string[] {
  if (rows.length === 0) return [`No feature delivers ${req}.`];
  const without = direction === 'forward' ? [] : rows.filter(({ vector }) => vector.intent === null);
  return [
    ...without.map(({ vector }) => `${vector.feature_id} names no intent.`),
    ...features.flatMap(({ feature_id, chain }) =>
      chain
        .filter(({ status }) => status !== 'converged')
        .map(({ asset, edge, status }) => `${feature_id} has no ${asset} yet: ${edge} is ${status}.`),
    ),
  ];
}
