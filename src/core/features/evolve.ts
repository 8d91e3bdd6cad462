import type { EventEnvelope } from '../events/envelope.js';
import { isFamilyType } from '../events/family-types.js';
import { edgeSteps } from './evolve-edge.js';
import { iterationCompleted } from './evolve-iteration.js';
import { projectSteps } from './evolve-project.js';
import { signalSteps } from './evolve-signal.js';
import { spawnSteps } from './evolve-spawn.js';
import type { MethodologyState } from './feature-state.js';
import { Scene } from './scene.js';

/** What each type of event does to the state. Our own and foreign ones of a name mean the same. */
const STEPS: ReadonlyMap<string, (scene: Scene) => void> = new Map(
  Object.entries({
    ...edgeSteps,
    iteration_completed: iterationCompleted,
    ...spawnSteps,
    ...signalSteps,
    ...projectSteps,
  }),
);

/** Told of a feature, but nobody's work on it: counted as such they would keep a silent agent alive for ever. */
const NO_WORK: ReadonlySet<string> = new Set(['claim_expired', 'claim_rejected', 'result_rejected']);

const UNKNOWN_TYPES_MAX = 200;
const OTHERS = '(others)';

/** One more event. What is not beyond the last position has been folded, so that a feed may repeat itself. */
export function evolveMethodology(state: MethodologyState, event: EventEnvelope): void {
  if (event.position <= state.position) return;
  state.position = event.position;
  state.last_updated = event.timestamp;
  const scene = new Scene(state, event);
  const step = STEPS.get(event.event_type);
  if (step !== undefined) step(scene);
  else if (!isFamilyType(event.event_type)) countUnknown(scene);
  if (!NO_WORK.has(event.event_type)) touch(scene);
}

function touch(scene: Scene): void {
  const { state, event, feature_id } = scene;
  const feature = feature_id === null ? undefined : state.features.get(feature_id);
  if (feature === undefined) return;
  feature.last_event_at = event.timestamp;
  feature.last_position = event.position;
  const edge = scene.knownEdge();
  if (edge === null) return;
  edge.last_at = event.timestamp;
  edge.positions.last = event.position;
}

function countUnknown({ state: { unknown_types }, event }: Scene): void {
  const name = event.event_type.slice(0, 256);
  const known = unknown_types.has(name) || unknown_types.size < UNKNOWN_TYPES_MAX;
  const key = known ? name : OTHERS;
  unknown_types.set(key, (unknown_types.get(key) ?? 0) + 1);
}
