import type { EventEnvelope } from '../../events/envelope.js';
import {
  type EdgeState,
  type FeatureState,
  type MethodologyState,
  newEdgeState,
  newFeatureState,
} from './feature-state.js';
import { edgeIdOf, featureIdOf } from './payload.js';

/** An event, the feature and edge it refers to, and the state it may change. */
export class EventContext {
  readonly feature_id: string | null;
  readonly edge_id: string | null;

  constructor(
    readonly state: MethodologyState,
    readonly event: EventEnvelope,
  ) {
    this.feature_id = featureIdOf(event);
    this.edge_id = edgeIdOf(event);
  }

  get payload(): EventEnvelope['payload'] {
    return this.event.payload;
  }

  /** The edge that the event refers to; null if the state has no such edge, or if the event names none. */
  existingEdge(): EdgeState | null {
    if (this.feature_id === null || this.edge_id === null) return null;
    return this.state.features.get(this.feature_id)?.edges.get(this.edge_id) ?? null;
  }

  /** The edge that the event refers to, created if necessary; null if the event names no edge. */
  ensureEdge(): EdgeState | null {
    return this.feature_id === null || this.edge_id === null
      ? null
      : this.ensureEdgeOf(this.feature_id, this.edge_id);
  }

  ensureEdgeOf(featureId: string, edgeId: string): EdgeState {
    const { edges } = this.ensureFeature(featureId);
    const existing = edges.get(edgeId);
    if (existing !== undefined) return existing;
    const created = newEdgeState(edgeId, this.event);
    edges.set(edgeId, created);
    return created;
  }

  ensureFeature(featureId: string): FeatureState {
    const existing = this.state.features.get(featureId);
    if (existing !== undefined) return existing;
    const created = newFeatureState(featureId, this.event);
    this.state.features.set(featureId, created);
    return created;
  }
}

/** Status of an edge that is not under review: iterating, unless a child or a hold blocks it. */
export const statusWithoutReview = ({ blocked_by, hold }: EdgeState): EdgeState['status'] =>
  blocked_by === null && hold === null ? 'iterating' : 'blocked';
