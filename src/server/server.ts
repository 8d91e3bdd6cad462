import { setMaxListeners } from 'node:events';
import type { AuditOptions } from '../coordinator/audit/signer.js';
import type { NoticeSender } from '../coordinator/background/review-notices.js';
import { Coordinator } from '../coordinator/coordinator.js';
import type { KeyRing } from '../coordinator/index.js';
import type { Limits } from '../core/claims/policy.js';
import { withoutUndefined } from '../core/without-undefined.js';
import type { Blobs } from '../stores/blobs.js';
import type { Store } from '../stores/store.js';
import { createApp } from './app.js';
import {
  type Authenticator,
  type AuthOptions,
  isInOpenModeAtStart,
  openAuthenticator,
} from './auth/authenticator.js';
import { RateLimiter } from './auth/rate-limit.js';
import { BodyMemory } from './body-memory.js';
import { type HttpListener, listen } from './listen.js';
import { DEFAULT_LISTEN_SETTINGS, type ListenSettings } from './listen-settings.js';
import { type ServerLogOptions, ServerLogs } from './log/logs.js';
import { Metrics } from './metrics/metrics.js';
import { ProjectFeeds } from './project-feeds.js';
import { readinessProbe } from './readiness.js';
import type { App } from './route.js';
import { ROUTES } from './routes.js';

export const DEFAULT_PORT = 4680;

export interface ServerOptions extends ServerLogOptions {
  /** Closed by the server when it stops. */
  readonly store: Store;
  readonly blobs?: Blobs;
  /** Default: 127.0.0.1. */
  readonly host?: string;
  /** Default: 4680; 0 picks a free port. */
  readonly port?: number;
  /** Default limits of a tenant; an admin can override them per tenant. */
  readonly limits?: Partial<Limits>;
  /** Default: `coditect_`. */
  readonly metrics_prefix?: string;
  readonly auth?: AuthOptions;
  /** Writes checkpoints of the logs. Absent: none are written. */
  readonly audit?: AuditOptions;
  /** Delivers notices of reviews to the webhooks of projects. Absent: none are sent. */
  readonly notice_sender?: NoticeSender;
  /** Memory for the bodies of requests and responses in progress. Default: 1 GiB. */
  readonly body_memory_bytes?: number;
  /** Timeouts and limits of connections. */
  readonly listen?: Partial<ListenSettings>;
  /** Addresses and networks of proxies, exempt from the connection limit per address. */
  readonly trusted_proxies?: readonly string[];
}

export interface RunningServer {
  readonly url: string;
  readonly port: number;
  readonly coordinator: Coordinator;
  /** The same API without a socket: `new Genesis({ fetch: app.fetch })`. */
  readonly app: App;
  /** Whether requests need no credential. */
  readonly isInOpenMode: boolean;
  /** Answers the requests in progress, ends the streams, and closes the coordinator and the store. */
  stop(): Promise<void>;
}

/**
 * Starts a coordinator on the store and serves it. The server owns the
 * store from here on, and closes it even if the start fails.
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  try {
    return await serve(options);
  } catch (error) {
    await options.store.close();
    throw error;
  }
}

async function serve(options: ServerOptions): Promise<RunningServer> {
  const { host = '127.0.0.1', port = DEFAULT_PORT } = options;
  const parts = await openParts(options, host);
  try {
    const keys = await parts.coordinator.keys.openKeyRing();
    parts.opened.keys = keys;
    const authenticator = await openAuthenticator({ ...options.auth, keys, host });
    const app = appOf(parts, authenticator, options);
    const listener = await listen(app, { host, port }, listenSettings(options), (reason) =>
      parts.metrics.connectionDropped(reason),
    );
    parts.opened.listener = listener;
    let stopPromise: Promise<void> | null = null;
    return {
      url: `http://${host.includes(':') ? `[${host}]` : host}:${listener.port}`,
      port: listener.port,
      coordinator: parts.coordinator,
      app,
      get isInOpenMode() {
        return authenticator.isInOpenMode;
      },
      stop: () => {
        stopPromise ??= stop(parts, listener);
        return stopPromise;
      },
    };
  } catch (error) {
    await parts.feeds.close();
    parts.coordinator.close();
    await parts.logs.close();
    throw error;
  }
}

/** What a server consists of, apart from the app that answers requests. */
interface ServerParts {
  readonly store: Store;
  readonly coordinator: Coordinator;
  readonly feeds: ProjectFeeds;
  readonly metrics: Metrics;
  readonly logs: ServerLogs;
  readonly stopController: AbortController;
  /** The parts that are opened after the coordinator; null until then. */
  readonly opened: { keys: KeyRing | null; listener: HttpListener | null };
}

async function openParts(options: ServerOptions, host: string): Promise<ServerParts> {
  const { store } = options;
  const opened: ServerParts['opened'] = { keys: null, listener: null };
  const metrics = new Metrics(options.metrics_prefix);
  const isInOpenMode = await isInOpenModeAtStart({ ...options.auth, store, host });
  const coordinator = await Coordinator.open({
    store,
    observer: metrics,
    ...withoutUndefined({ blobs: options.blobs, audit: options.audit }),
    ...withoutUndefined({ limits: options.limits, notice_sender: options.notice_sender }),
    has_enterprise_limits: () => isInOpenMode && opened.keys?.hasAnyKey !== true,
  });
  const stopController = new AbortController();
  // Every waiting call and stream adds a listener. Without this, Node warns of a leak from the eleventh on.
  setMaxListeners(0, stopController.signal);
  const feeds = new ProjectFeeds(coordinator.feed, store);
  const logs = new ServerLogs(options);
  metrics.setGaugeSources({
    projectCounts: () => coordinator.projectCounts(),
    feedLag: () => feeds.lag(),
    listeners: () => feeds.subscriberCount(),
    damage: () => store.damage?.() ?? [],
    connections: () => opened.listener?.openConnectionCount ?? 0,
    lostLogLines: () => logs.lost_lines,
    auditAlarms: () => coordinator.audit.alarms(),
    undeliveredCheckpoints: () => coordinator.audit.undelivered(),
  });
  return { store, coordinator, feeds, metrics, logs, stopController, opened };
}

function appOf(parts: ServerParts, authenticator: Authenticator, options: ServerOptions): App {
  const { coordinator, feeds, metrics, store, logs } = parts;
  const stopping = parts.stopController.signal;
  return createApp({
    context: {
      coordinator,
      feeds,
      readiness: readinessProbe(store, stopping, coordinator.audit),
      metrics: () => coordinator.waitForClaimedProjects().then(() => metrics.text()),
      stopping,
      bodyMemory: new BodyMemory(options.body_memory_bytes),
    },
    routes: ROUTES,
    authenticator,
    rateLimiter: new RateLimiter(options.auth?.rate_limits),
    accessLog: logs.accessLog,
    // The first key ends open mode while the server is running.
    isAccessLogged: () => options.shouldLogOpenMode !== false || !authenticator.isInOpenMode,
    errorLog: logs.errorLog,
  });
}

async function stop(parts: ServerParts, listener: HttpListener): Promise<void> {
  const { coordinator } = parts;
  parts.stopController.abort();
  const requestsAnswered = listener.stop();
  await parts.feeds.close();
  await requestsAnswered;
  await coordinator.audit.stop();
  coordinator.close();
  await parts.store.close();
  await parts.logs.close();
}

function listenSettings({ listen, trusted_proxies = [] }: ServerOptions): ListenSettings {
  const settings = { ...DEFAULT_LISTEN_SETTINGS, ...listen };
  return { ...settings, exempt_addresses: [...settings.exempt_addresses, ...trusted_proxies] };
}
