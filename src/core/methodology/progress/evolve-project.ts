import type { EventContext } from './event-context.js';
import { countIn, longTextIn, shortTextIn } from './payload.js';

/** Views show the latest items; the log has all of them. */
const ITEMS_KEPT_MAX = 100;

/** Handlers for events about the project as a whole. */
export const projectHandlers = {
  project_initialized: ({ state, event }: EventContext): void => {
    state.initialized_at ??= event.timestamp;
  },

  checkpoint_created: ({ state, event, payload }: EventContext): void =>
    pushBounded(state.checkpoints, {
      at: event.timestamp,
      position: event.position,
      context_hash: shortTextIn(payload, 'context_hash') ?? '',
      message: longTextIn(payload, 'message'),
      snapshot_path: longTextIn(payload, 'snapshot_path'),
    }),

  release_created: ({ state, event, payload }: EventContext): void =>
    pushBounded(state.releases, {
      at: event.timestamp,
      version: shortTextIn(payload, 'version') ?? '',
      features_included: countIn(payload, 'features_included') ?? 0,
    }),

  gaps_validated: ({ state, event, payload }: EventContext): void => {
    state.last_gaps = {
      at: event.timestamp,
      total_req_keys: countIn(payload, 'total_req_keys') ?? 0,
      full_coverage: countIn(payload, 'full_coverage') ?? 0,
      no_coverage: countIn(payload, 'no_coverage') ?? 0,
    };
  },
};

function pushBounded<Item>(items: Item[], item: Item): void {
  items.push(item);
  if (items.length > ITEMS_KEPT_MAX) items.shift();
}
