import type { EventFeed } from '../coordinator/queries/feed.js';
import type { ProjectKey, Store } from '../stores/store.js';
import { ALWAYS_AUTHORIZED } from './auth/authorization.js';
import type { RequestConnection } from './connection.js';
import { ProjectFeed } from './project-feed.js';
import { type EventStreamFilter, type StreamAuthorization, StreamSubscriber } from './stream-subscriber.js';

const DEFAULT_FEED_SETTINGS = {
  heartbeat_ms: 15_000,
  /** Maximum number of unsent bytes per subscriber. Beyond it, the subscriber is disconnected and resumes with its cursor. */
  unsent_bytes_max: 1024 * 1024,
};
export type FeedSettings = Readonly<typeof DEFAULT_FEED_SETTINGS>;

/** The events that a subscriber wants, and its connection. */
interface Subscription {
  readonly filter: EventStreamFilter;
  /** The stream begins after this position, or with the next new event. */
  readonly position: number | 'now';
  readonly connection: Pick<RequestConnection, 'onClose' | 'destroy'>;
  readonly authorization?: StreamAuthorization;
}

/** The server's feeds: one per project, while it has subscribers. */
export class ProjectFeeds {
  private readonly feeds = new Map<string, Promise<ProjectFeed>>();
  private readonly heartbeatTimer: NodeJS.Timeout;
  /** Opened feeds that have not ended. */
  private readonly openFeeds = new Set<ProjectFeed>();
  private isClosed = false;

  constructor(
    private readonly events: EventFeed,
    private readonly store: Store,
    private readonly settings: FeedSettings = DEFAULT_FEED_SETTINGS,
  ) {
    this.heartbeatTimer = setInterval(() => void this.heartbeat(), settings.heartbeat_ms).unref();
  }

  /** Streams events until the client or the server ends it. */
  async subscribe(
    projectKey: ProjectKey,
    { filter, position, connection, authorization = ALWAYS_AUTHORIZED }: Subscription,
  ): Promise<Pick<StreamSubscriber, 'body' | 'ended'>> {
    const feed = await this.feedOf(projectKey);
    const startPosition = position === 'now' ? feed.position : position;
    const { unsent_bytes_max } = this.settings;
    const subscriber = new StreamSubscriber(
      filter,
      startPosition,
      connection,
      authorization,
      unsent_bytes_max,
    );
    feed.subscribers.add(subscriber);
    this.openFeeds.add(feed);
    const stopWatching = authorization.onEnd(() => subscriber.endUnauthorized());
    // A client that disconnects before it reads the stream does not cancel the stream.
    const stopListening = connection.onClose(() => subscriber.markEnded());
    void subscriber.ended.then(() => {
      stopWatching();
      stopListening();
      feed.subscribers.delete(subscriber);
      if (feed.subscribers.size > 0) return;
      feed.end();
      this.openFeeds.delete(feed);
    });
    // The request arrived before the server began to stop.
    if (this.isClosed) subscriber.end();
    else {
      subscriber.sendHello();
      feed.catchUp(subscriber).catch(() => subscriber.destroy());
    }
    return subscriber;
  }

  /** Lag of the slowest subscriber, in events. */
  lag(): number {
    return Math.max(0, ...[...this.openFeeds].map((feed) => feed.lag));
  }

  subscriberCount(): number {
    let count = 0;
    for (const feed of this.openFeeds) count += feed.subscribers.size;
    return count;
  }

  /** Ends every stream. Clients reconnect with their cursors, to whichever server is available. */
  async close(): Promise<void> {
    this.isClosed = true;
    clearInterval(this.heartbeatTimer);
    for (const feed of await Promise.allSettled(this.feeds.values())) {
      if (feed.status === 'fulfilled') feed.value.end();
    }
  }

  private async feedOf(projectKey: ProjectKey): Promise<ProjectFeed> {
    const name = `${projectKey.tenant_id}/${projectKey.project_id}`;
    for (;;) {
      const opening = this.feeds.get(name) ?? this.open(name, projectKey);
      const feed = await opening;
      if (!feed.isEnded) return feed;
      // The last subscriber of the feed left while this call waited for the feed.
      if (this.feeds.get(name) === opening) this.feeds.delete(name);
    }
  }

  private open(name: string, projectKey: ProjectKey): Promise<ProjectFeed> {
    const opening = this.store
      .project(projectKey)
      .then((row) => new ProjectFeed(this.events, projectKey, row?.position ?? 0));
    this.feeds.set(name, opening);
    opening.catch(() => this.feeds.delete(name));
    return opening;
  }

  private async heartbeat(): Promise<void> {
    for (const [name, opening] of this.feeds) {
      const feed = await opening.catch(() => null);
      if (feed?.isEnded) this.feeds.delete(name);
      for (const subscriber of feed?.subscribers ?? []) subscriber.heartbeat();
    }
  }
}
