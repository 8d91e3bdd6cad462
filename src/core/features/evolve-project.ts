import { countIn, nameIn, sentenceIn } from './payload.js';
import type { Scene } from './scene.js';

/** Views show the last few; the log has them all. */
const KEPT_MAX = 100;

/** What is told of the project as a whole. */
export const projectSteps = {
  project_initialized: ({ state, event }: Scene): void => {
    state.initialized_at ??= event.timestamp;
  },

  checkpoint_created: ({ state, event, payload }: Scene): void =>
    keep(state.checkpoints, {
      at: event.timestamp,
      position: event.position,
      context_hash: nameIn(payload, 'context_hash') ?? '',
      message: sentenceIn(payload, 'message'),
      snapshot_path: sentenceIn(payload, 'snapshot_path'),
    }),

  release_created: ({ state, event, payload }: Scene): void =>
    keep(state.releases, {
      at: event.timestamp,
      version: nameIn(payload, 'version') ?? '',
      features_included: countIn(payload, 'features_included') ?? 0,
    }),

  gaps_validated: ({ state, event, payload }: Scene): void => {
    state.last_gaps = {
      at: event.timestamp,
      total_req_keys: countIn(payload, 'total_req_keys') ?? 0,
      full_coverage: countIn(payload, 'full_coverage') ?? 0,
      no_coverage: countIn(payload, 'no_coverage') ?? 0,
    };
  },
};

function keep<Item>(items: Item[], item: Item): void {
  items.push(item);
  if (items.length > KEPT_MAX) items.shift();
}
