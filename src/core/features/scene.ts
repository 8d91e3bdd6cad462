import type { EventEnvelope } from '../events/envelope.js';
import type { EdgeState, FeatureState, MethodologyState } from './feature-state.js';
import { edgeOf, featureOf } from './payload.js';

/** One event, what it speaks of, and the state it may change. */
export class Scene {
  readonly feature_id: string | null;
  readonly edge_id: string | null;

  constructor(
    readonly state: MethodologyState,
    readonly event: EventEnvelope,
  ) {
    this.feature_id = featureOf(event);
    this.edge_id = edgeOf(event);
  }

  get payload(): EventEnvelope['payload'] {
    return this.event.payload;
  }

  /** The edge spoken of, if anybody has begun it. */
  knownEdge(): EdgeState | null {
    if (this.feature_id === null || this.edge_id === null) return null;
    return this.state.features.get(this.feature_id)?.edges.get(this.edge_id) ?? null;
  }

  /** The edge spoken of; null where a line names none. */
  edge(): EdgeState | null {
    return this.feature_id === null || this.edge_id === null
      ? null
      : this.edgeOf(this.feature_id, this.edge_id);
  }

  edgeOf(feature_id: string, edge_id: string): EdgeState {
    const { edges } = this.feature(feature_id);
    const known = edges.get(edge_id);
    if (known !== undefined) return known;
    const fresh = freshEdge(edge_id, this.event);
    edges.set(edge_id, fresh);
    return fresh;
  }

  feature(feature_id: string): FeatureState {
    const known = this.state.features.get(feature_id);
    if (known !== undefined) return known;
    const fresh = freshFeature(feature_id, this.event);
    this.state.features.set(feature_id, fresh);
    return fresh;
  }
}

/** What an edge goes back to when nobody reviews it: it is worked on, unless something else stands in its way. */
export const restingStatus = ({ blocked_by, hold }: EdgeState): EdgeState['status'] =>
  blocked_by === null && hold === null ? 'iterating' : 'blocked';

const freshEdge = (edge: string, { timestamp, position }: EventEnvelope): EdgeState => ({
  edge,
  status: 'iterating',
  iteration: 0,
  delta: null,
  deltas: [],
  failing: new Map(),
  blocked_by: null,
  hold: null,
  started_at: null,
  converged_at: null,
  started_unseen: false,
  unproven: false,
  agent_id: null,
  agent_role: null,
  generation: null,
  context_hash: null,
  convergence_type: null,
  evaluators: null,
  review: null,
  last_at: timestamp,
  positions: { started: null, last: position, converged: null },
});

const freshFeature = (feature_id: string, { timestamp, position }: EventEnvelope): FeatureState => ({
  feature_id,
  edges: new Map(),
  children: new Map(),
  parent: null,
  vector_type: null,
  profile: null,
  title: null,
  time_box: null,
  folded_back: null,
  last_event_at: timestamp,
  last_position: position,
});
