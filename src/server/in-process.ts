import type { Coordinator } from '../coordinator/coordinator.js';
import type { Store } from '../stores/store.js';
import { createApp } from './app.js';
import type { Principal } from './auth/principal.js';
import { RateLimiter } from './auth/rate-limit.js';
import { BodyMemory } from './body-memory.js';
import { ProjectFeeds } from './project-feeds.js';
import { readinessProbe } from './readiness.js';
import { ROUTES } from './routes.js';

/**
 * The app without a socket, for one caller in this process, which is trusted to be who it says: `new Genesis({ fetch:
 * app.fetch })`. `close` ends waiting calls and streams; the coordinator and the store stay open.
 */
export function createInProcessApp(coordinator: Coordinator, store: Store, principal: Principal) {
  const feeds = new ProjectFeeds(coordinator.feed, store);
  const stopping = new AbortController();
  const app = createApp({
    context: {
      coordinator,
      feeds,
      readiness: readinessProbe(store, stopping.signal, coordinator.audit),
      metrics: async () => '',
      stopping: stopping.signal,
      bodyMemory: new BodyMemory(),
    },
    routes: ROUTES,
    authenticator: {
      isInOpenMode: false,
      authenticate: () => principal,
      isValid: () => true,
      watch: () => () => {},
    },
    rateLimiter: new RateLimiter(),
    accessLog: null,
    // The caller gets the error itself: there is no log to look it up in.
    errorLog: ({ error }) => process.emitWarning(String(error), 'GenesisWarning'),
  });
  const close = async (): Promise<void> => {
    stopping.abort();
    await feeds.close();
  };
  return { app, feeds, close };
}
