import { Coordinator } from '../coordinator/coordinator.js';
import { ENTERPRISE_LIMITS, type Limits } from '../core/claims/policy.js';
import type { Blobs } from '../stores/blobs.js';
import type { Store } from '../stores/store.js';
import { createApp } from './app.js';
import { openGatekeeper, startsOpen } from './auth/gatekeeper.js';
import type { AuthOptions } from './auth/options.js';
import { RateLimiter } from './auth/rate-limit.js';
import { listen } from './listen.js';
import { Metrics } from './metrics/metrics.js';
import { ROUTES } from './routes.js';
import { Feeds } from './stream.js';

export const PORT = 4680;

export interface ServerOptions {
  /** The server closes it when it stops. */
  readonly store: Store;
  readonly blobs?: Blobs;
  /** 127.0.0.1 unless said. */
  readonly host?: string;
  /** 4680 unless said; 0 picks a free one. */
  readonly port?: number;
  /** What a tenant may do until an admin says otherwise. */
  readonly limits?: Partial<Limits>;
  /** `coditect_` unless said. */
  readonly metrics_prefix?: string;
  readonly auth?: AuthOptions;
  /** One line per thing worth knowing. */
  readonly log?: (line: Record<string, unknown>) => void;
}

export interface RunningServer {
  readonly url: string;
  readonly port: number;
  readonly coordinator: Coordinator;
  /** Nobody has to say who they are. */
  readonly open: boolean;
  /** Answers what was accepted, ends the streams, closes the coordinator and the store. */
  stop(): Promise<void>;
}

/** Opens the coordinator on a store and serves it. From here on the store is the server's, which closes it. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { store, host = '127.0.0.1', port = PORT, log = null } = options;
  const metrics = new Metrics(options.metrics_prefix);
  const isOpen = await startsOpen({ store, host, jwt: options.auth?.jwt });
  const coordinator = await Coordinator.open({
    store,
    witness: metrics,
    ...(options.blobs === undefined ? {} : { blobs: options.blobs }),
    limits: { ...(isOpen ? ENTERPRISE_LIMITS : {}), ...options.limits },
  });
  const feeds = new Feeds(coordinator.feed, store);
  metrics.watch({
    standings: () => coordinator.queries.standings(),
    feedLag: () => feeds.lag(),
    listeners: () => feeds.listeners(),
  });
  const stopping = new AbortController();
  const close = async (): Promise<void> => {
    coordinator.close();
    await store.close();
  };
  try {
    const keys = await coordinator.keys.ring();
    const gatekeeper = await openGatekeeper({ keys, host, jwt: options.auth?.jwt });
    const limiter = new RateLimiter(options.auth?.rate_limits);
    const house = { coordinator, store, feeds, metrics: () => metrics.text(), stopping: stopping.signal };
    const app = createApp({ house, routes: ROUTES, gatekeeper, limiter, log });
    const listening = await listen(app, { host, port });
    let stopped: Promise<void> | null = null;
    const stop = async (): Promise<void> => {
      stopping.abort();
      const answered = listening.stop();
      await feeds.close();
      await answered;
      await close();
    };
    return {
      url: `http://${host.includes(':') ? `[${host}]` : host}:${listening.port}`,
      port: listening.port,
      coordinator,
      get open() {
        return gatekeeper.open;
      },
      stop: () => {
        stopped ??= stop();
        return stopped;
      },
    };
  } catch (error) {
    await feeds.close();
    await close();
    throw error;
  }
}
