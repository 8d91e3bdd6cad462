import type { EventContext } from './event-context.js';
import { countIn, shortTextIn } from './payload.js';

/** Views show the latest release; the log has all of them. */
const RELEASES_KEPT_MAX = 100;

/** Handlers for events about the project as a whole. */
export const projectHandlers = {
  release_created: ({ state, event, payload }: EventContext): void => {
    state.releases.push({
      at: event.timestamp,
      version: shortTextIn(payload, 'version') ?? '',
      features_included: countIn(payload, 'features_included') ?? 0,
    });
    if (state.releases.length > RELEASES_KEPT_MAX) state.releases.shift();
  },

  gaps_validated: ({ state, event, payload }: EventContext): void => {
    state.last_gaps = {
      at: event.timestamp,
      total_req_keys: countIn(payload, 'total_req_keys') ?? 0,
      full_coverage: countIn(payload, 'full_coverage') ?? 0,
      no_coverage: countIn(payload, 'no_coverage') ?? 0,
    };
  },
};
