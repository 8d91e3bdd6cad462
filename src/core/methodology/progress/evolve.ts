import type { EventEnvelope } from '../../events/envelope.js';
import { isKnownEventType } from '../../events/known-event-types.js';
import { EventContext } from './event-context.js';
import { edgeHandlers } from './evolve-edge.js';
import { onIterationCompleted } from './evolve-iteration.js';
import { projectHandlers } from './evolve-project.js';
import { reviewHandlers } from './evolve-review.js';
import { runEventHandlers } from './evolve-run.js';
import { signalHandlers } from './evolve-signal.js';
import { spawnHandlers } from './evolve-spawn.js';
import type { MethodologyState } from './feature-state.js';

/** Handler per event type. Events of this coordinator and foreign events of the same type are treated alike. */
export const EVENT_HANDLERS: ReadonlyMap<string, (context: EventContext) => void> = new Map(
  Object.entries({
    ...edgeHandlers,
    ...runEventHandlers,
    iteration_completed: onIterationCompleted,
    ...spawnHandlers,
    ...signalHandlers,
    ...reviewHandlers,
    ...projectHandlers,
  }),
);

/** Events about a feature that are not work on it. If they counted as activity, an inactive agent would appear active. */
const NON_WORK_EVENTS: ReadonlySet<string> = new Set([
  'claim_expired',
  'claim_rejected',
  'result_rejected',
  'escalation_timeout',
  'review_notified',
  'review_notice_failed',
]);

const UNKNOWN_TYPES_MAX = 200;
const OTHER_TYPES_KEY = '(others)';

/** Folds one event. Events up to the last position are ignored, so a feed may repeat events. */
export function evolveMethodology(state: MethodologyState, event: EventEnvelope): void {
  if (event.position <= state.position) return;
  state.position = event.position;
  state.last_updated = event.timestamp;
  const context = new EventContext(state, event);
  const handler = EVENT_HANDLERS.get(event.event_type);
  if (handler !== undefined) handler(context);
  else if (!isKnownEventType(event.event_type)) countUnknownType(context);
  if (!NON_WORK_EVENTS.has(event.event_type)) updateLastActivity(context);
}

function updateLastActivity(context: EventContext): void {
  const { state, event, feature_id } = context;
  const feature = feature_id === null ? undefined : state.features.get(feature_id);
  if (feature === undefined) return;
  feature.last_event_at = event.timestamp;
  feature.last_position = event.position;
  const edge = context.existingEdge();
  if (edge === null) return;
  edge.last_at = event.timestamp;
  edge.positions.last = event.position;
}

function countUnknownType({ state: { unknown_types }, event }: EventContext): void {
  const name = event.event_type.slice(0, 256);
  const hasOwnCount = unknown_types.has(name) || unknown_types.size < UNKNOWN_TYPES_MAX;
  const key = hasOwnCount ? name : OTHER_TYPES_KEY;
  unknown_types.set(key, (unknown_types.get(key) ?? 0) + 1);
}
