import { setMaxListeners } from 'node:events';
import { Coordinator } from '../coordinator/coordinator.js';
import { ENTERPRISE_LIMITS, type Limits } from '../core/claims/policy.js';
import type { Blobs } from '../stores/blobs.js';
import type { Store } from '../stores/store.js';
import { createApp } from './app.js';
import { openGatekeeper, startsOpen } from './auth/gatekeeper.js';
import type { AuthOptions } from './auth/options.js';
import { RateLimiter } from './auth/rate-limit.js';
import { type Listening, listen } from './listen.js';
import { LISTEN_SETTINGS, type ListenSettings } from './listen-settings.js';
import { type LogOptions, Logs } from './log/logs.js';
import { Metrics } from './metrics/metrics.js';
import { Readiness } from './readiness.js';
import { ROUTES } from './routes.js';
import { Feeds } from './stream.js';

export const PORT = 4680;

export interface ServerOptions extends LogOptions {
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
  /** Times and limits of connections. */
  readonly listen?: Partial<ListenSettings>;
  /** Addresses and networks of proxies: the limit of connections per address does not apply to them. */
  readonly trusted_proxies?: readonly string[];
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
  try {
    return await serve(options);
  } catch (error) {
    await options.store.close();
    throw error;
  }
}

async function serve(options: ServerOptions): Promise<RunningServer> {
  const { store, host = '127.0.0.1', port = PORT } = options;
  const metrics = new Metrics(options.metrics_prefix);
  const isOpen = await startsOpen({ store, host, jwt: options.auth?.jwt });
  const coordinator = await Coordinator.open({
    store,
    witness: metrics,
    ...(options.blobs === undefined ? {} : { blobs: options.blobs }),
    limits: { ...(isOpen ? ENTERPRISE_LIMITS : {}), ...options.limits },
  });
  const feeds = new Feeds(coordinator.feed, store);
  let listening: Listening | null = null;
  const logs = new Logs(options);
  metrics.watch({
    standings: () => coordinator.queries.standings(),
    feedLag: () => feeds.lag(),
    listeners: () => feeds.listeners(),
    damage: () => store.damage?.() ?? [],
    connections: () => listening?.open_connections ?? 0,
    lostLogLines: () => logs.lost_lines,
  });
  const stopping = new AbortController();
  // Every waiting call and every stream listens to it; Node warns of a leak from the eleventh on.
  setMaxListeners(0, stopping.signal);
  const close = async (): Promise<void> => {
    coordinator.close();
    await store.close();
    await logs.close();
  };
  try {
    const keys = await coordinator.keys.ring();
    const { jwt, private_token } = options.auth ?? {};
    const gatekeeper = await openGatekeeper({ keys, host, jwt, private_token });
    const limiter = new RateLimiter(options.auth?.rate_limits);
    const readiness = new Readiness(store, stopping.signal);
    const house = {
      coordinator,
      store,
      feeds,
      readiness,
      metrics: () => metrics.text(),
      stopping: stopping.signal,
    };
    const { log, errorLog } = logs;
    const app = createApp({ house, routes: ROUTES, gatekeeper, limiter, log, errorLog });
    const accepting = await listen(app, { host, port }, listenSettings(options), (reason) =>
      metrics.connectionDropped(reason),
    );
    listening = accepting;
    let stopped: Promise<void> | null = null;
    const stop = async (): Promise<void> => {
      stopping.abort();
      const answered = accepting.stop();
      await feeds.close();
      await answered;
      await close();
    };
    return {
      url: `http://${host.includes(':') ? `[${host}]` : host}:${accepting.port}`,
      port: accepting.port,
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
    coordinator.close();
    await logs.close();
    throw error;
  }
}

function listenSettings({ listen, trusted_proxies = [] }: ServerOptions): ListenSettings {
  const settings = { ...LISTEN_SETTINGS, ...listen };
  return { ...settings, exempt_addresses: [...settings.exempt_addresses, ...trusted_proxies] };
}
