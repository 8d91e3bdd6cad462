import { parseDuration } from '../graph/time-box.js';
import { unblock } from './evolve-edge.js';
import { actOnIntents } from './evolve-signal.js';
import type { ChildState, EdgeState, FeatureState } from './feature-state.js';
import { edgeIn, fieldOf, isFields, nameIn, sentenceIn } from './payload.js';
import type { Scene } from './scene.js';

export const spawnSteps = { spawn_created: created, spawn_folded_back: foldedBack };

/** The child is known from here on, and its parent's edge waits for it. */
function created(scene: Scene): void {
  actOnIntents(scene);
  const { payload, event } = scene;
  const parent_id = nameIn(payload, 'parent') ?? scene.feature_id;
  const child_id = nameIn(payload, 'child');
  if (child_id === null) return;
  const edge = edgeIn(payload, 'triggered_at_edge') ?? scene.edge_id;
  const vector_type = nameIn(payload, 'vector_type') ?? 'feature';
  const child = scene.feature(child_id);
  child.vector_type = vector_type;
  child.profile = nameIn(payload, 'profile');
  child.title = sentenceIn(payload, 'title', 'reason');
  child.time_box = timeBoxIn(scene, vector_type);
  child.folded_back = null;
  child.last_event_at = event.timestamp;
  child.last_position = event.position;
  if (parent_id === null || parent_id === child_id) return;
  child.parent = { feature: parent_id, edge, reason: sentenceIn(payload, 'reason') ?? '' };
  const entry: ChildState = { feature: child_id, vector_type, edge, folded_back: null, payload_path: null };
  scene.feature(parent_id).children.set(child_id, entry);
  if (edge !== null) block(scene.edgeOf(parent_id, edge), child_id);
}

/** A hotfix that runs over is a person's business; anything else comes back with what it has. */
function timeBoxIn({ payload, event }: Scene, vector_type: string): FeatureState['time_box'] {
  const told = fieldOf(payload, 'time_box');
  const duration = isFields(told) ? nameIn(told, 'duration') : nameIn(payload, 'time_box');
  const duration_seconds = duration === null ? null : parseDuration(duration);
  if (duration_seconds === null) return null;
  const on_expiry = vector_type === 'hotfix' ? 'escalate' : 'fold_back';
  return { duration_seconds, started: event.timestamp, on_expiry };
}

function block(edge: EdgeState, child_id: string): void {
  // What is done waits for nobody.
  if (edge.status === 'converged') return;
  edge.blocked_by = child_id;
  edge.status = 'blocked';
}

function foldedBack(scene: Scene): void {
  const { payload, state, event } = scene;
  const child_id = nameIn(payload, 'child');
  if (child_id === null) return;
  const how = nameIn(payload, 'fold_back_status') === 'time_box_expired' ? 'time_box_expired' : 'converged';
  const child = scene.feature(child_id);
  child.folded_back = how;
  child.last_event_at = event.timestamp;
  child.last_position = event.position;
  const parent_id = nameIn(payload, 'parent') ?? child.parent?.feature;
  const parent = parent_id === undefined ? undefined : state.features.get(parent_id);
  if (parent === undefined) return;
  const entry = parent.children.get(child_id);
  if (entry !== undefined) {
    entry.folded_back = how;
    entry.payload_path = sentenceIn(payload, 'payload_path');
  }
  for (const edge of parent.edges.values()) {
    if (edge.blocked_by !== child_id) continue;
    edge.blocked_by = nextChild(parent, edge.edge);
    unblock(scene, parent.feature_id, edge);
  }
}

/** Several children may have been spawned at one edge; it waits for all of them. */
function nextChild(parent: FeatureState, edge: string): string | null {
  for (const child of parent.children.values()) {
    if (child.edge === edge && child.folded_back === null) return child.feature;
  }
  return null;
}
