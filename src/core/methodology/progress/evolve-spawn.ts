import type { ChildState } from '../../contract/methodology-views.js';
import { parseDuration } from '../definition/time-box.js';
import type { EventContext } from './event-context.js';
import { unblock } from './evolve-edge.js';
import { resolveIntents } from './evolve-signal.js';
import type { EdgeState, FeatureState } from './feature-state.js';
import { edgeIn, isFields, payloadField, shortTextIn, truncatedTextIn } from './payload.js';

export const spawnHandlers = {
  spawn_created: onSpawnCreated,
  // The name that other Genesis tools use.
  feature_spawned: onSpawnCreated,
  spawn_folded_back: onFoldedBack,
};

/** Records the child, and blocks the parent's edge until the child folds back. */
function onSpawnCreated(context: EventContext): void {
  resolveIntents(context);
  const { payload, event } = context;
  const parentId = shortTextIn(payload, 'parent', 'parent_vector', 'parent_feature') ?? context.feature_id;
  // An event that names no child is recorded on the spawned feature itself.
  const childId = shortTextIn(payload, 'child', 'child_vector', 'child_feature') ?? context.feature_id;
  if (childId === null) return;
  const edge = edgeIn(payload, 'triggered_at_edge') ?? context.edge_id;
  const vector_type = shortTextIn(payload, 'vector_type') ?? 'feature';
  const child = context.ensureFeature(childId);
  child.vector_type = vector_type;
  child.profile = shortTextIn(payload, 'profile');
  child.title = truncatedTextIn(payload, 'title', 'description', 'question', 'reason');
  child.time_box = timeBoxIn(context, vector_type);
  child.folded_back = null;
  child.last_event_at = event.timestamp;
  child.last_position = event.position;
  if (parentId === null || parentId === childId) return;
  child.parent = { feature: parentId, edge, reason: truncatedTextIn(payload, 'reason') ?? '' };
  const entry: ChildState = { feature: childId, vector_type, edge, folded_back: null, payload_path: null };
  context.ensureFeature(parentId).children.set(childId, entry);
  if (edge !== null) blockEdge(context.ensureEdgeOf(parentId, edge), childId);
}

/** The time box of a child. When it expires, a hotfix is escalated to a person; other children fold back what they have. */
function timeBoxIn({ payload, event }: EventContext, vectorType: string): FeatureState['time_box'] {
  const raw = payloadField(payload, 'time_box');
  const duration = isFields(raw) ? shortTextIn(raw, 'duration') : shortTextIn(payload, 'time_box');
  const duration_seconds = duration === null ? null : parseDuration(duration);
  if (duration_seconds === null) return null;
  const on_expiry = vectorType === 'hotfix' ? 'escalate' : 'fold_back';
  return { duration_seconds, started: event.timestamp, on_expiry };
}

function blockEdge(edge: EdgeState, childId: string): void {
  // A converged edge waits for nothing.
  if (edge.status === 'converged') return;
  edge.blocked_by = childId;
  edge.status = 'blocked';
}

function onFoldedBack(context: EventContext): void {
  const { payload, state, event } = context;
  const childId = shortTextIn(payload, 'child');
  if (childId === null) return;
  const foldBackStatus =
    shortTextIn(payload, 'fold_back_status') === 'time_box_expired' ? 'time_box_expired' : 'converged';
  const child = context.ensureFeature(childId);
  child.folded_back = foldBackStatus;
  child.last_event_at = event.timestamp;
  child.last_position = event.position;
  const parentId = shortTextIn(payload, 'parent') ?? child.parent?.feature;
  const parent = parentId === undefined ? undefined : state.features.get(parentId);
  if (parent === undefined) return;
  const entry = parent.children.get(childId);
  if (entry !== undefined) {
    entry.folded_back = foldBackStatus;
    entry.payload_path = truncatedTextIn(payload, 'payload_path');
  }
  for (const edge of parent.edges.values()) {
    if (edge.blocked_by !== childId) continue;
    edge.blocked_by = nextOpenChild(parent, edge.edge);
    unblock(context, parent.feature_id, edge);
  }
}

/** Another child that blocks the edge; null if there is none. An edge waits for all children that were spawned at it. */
function nextOpenChild(parent: FeatureState, edge: string): string | null {
  for (const child of parent.children.values()) {
    if (child.edge === edge && child.folded_back === null) return child.feature;
  }
  return null;
}
