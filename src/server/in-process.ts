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
 * The app without a socket, for one caller in this process, which acts as `principal` without a credential: `new
 * Genesis({ fetch: app.fetch })`. `close` ends waiting calls and streams; the coordinator and the store stay open.
 */
export function createInProcessApp(coordinator: Coordinator, store: Store, principal: Principal) {
  const feeds = new ProjectFeeds(coordinator.feed, store);
  const stopController = new AbortController();
  const app = createApp({
    context: {
      coordinator,
      feeds,
      readiness: readinessProbe(store, stopController.signal, coordinator.audit),
      metrics: async () => '',
      stopping: stopController.signal,
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
    // There is no log in which the caller could look up the error id, so the process prints the error as a warning.
    errorLog: ({ error }) => process.emitWarning(String(error), 'GenesisWarning'),
  });
  const close = async (): Promise<void> => {
    stopController.abort();
    await feeds.close();
  };
  return { app, feeds, close };
}
