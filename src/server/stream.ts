import { setTimeout as sleep } from 'node:timers/promises';
import { cursorAt } from '../coordinator/queries/cursor.js';
import type { EventFeed } from '../coordinator/queries/feed.js';
import { backoffMs } from '../coordinator/queue/backoff.js';
import { isProblem } from '../coordinator/wire/problem.js';
import type { EventFilter } from '../core/contract/events.js';
import type { EventEnvelope } from '../core/events/envelope.js';
import { matcher } from '../stores/event-matcher.js';
import { type ProjectKey, type Store, StoreUnavailable } from '../stores/store.js';
import { ALWAYS_AUTHORIZED, type Authorization } from './auth/authorization.js';
import type { RequestConnection } from './connection.js';

const PAGE_EVENTS_MAX = 1000;
/** After a broadcast, pause this many times its duration. */
const COOLDOWN_FACTOR = 4;
const HEARTBEAT_FRAME = Buffer.from(': still here\n\n');
const UNAUTHORIZED_FRAME = Buffer.from(
  ': ended: the credential of this stream was revoked or has expired\n\n',
);
/** A subscriber that reads nothing for this many heartbeats is disconnected. */
const SILENT_HEARTBEATS_MAX = 2;

type StreamAuthorization = Pick<Authorization, 'isStillAuthorized' | 'onEnd' | 'recheck'>;

const DEFAULT_FEED_SETTINGS = {
  heartbeat_ms: 15_000,
  /** Maximum number of unsent bytes per subscriber. Beyond it, the subscriber is disconnected and resumes with its cursor. */
  unsent_bytes_max: 1024 * 1024,
};
export type FeedSettings = Readonly<typeof DEFAULT_FEED_SETTINGS>;

/** A subscriber's filter, without its start position. */
type EventStreamFilter = Omit<EventFilter, 'after' | 'limit'>;

interface EncodedEvent {
  readonly event: EventEnvelope;
  /** The event as sent, encoded once for all subscribers. */
  readonly frame: Buffer;
}

const encodeEvent = (event: EventEnvelope): EncodedEvent => ({
  event,
  frame: Buffer.from(`id: ${cursorAt(event.position)}\ndata: ${JSON.stringify(event)}\n\n`),
});

/** What a subscriber asks for, and the connection it asks on. */
interface Subscription {
  readonly filter: EventStreamFilter;
  /** Streams the events after this position, or from now on. */
  readonly position: number | 'now';
  readonly connection: Pick<RequestConnection, 'onClose' | 'destroy'>;
  readonly authorization?: StreamAuthorization;
}

/** One streaming response with its position. Events up to that position are not sent again. */
class StreamSubscriber {
  isCaughtUp = false;
  readonly body: ReadableStream<Uint8Array>;
  /** Settles when the response has ended, by either side. */
  readonly ended: Promise<void>;
  private controller!: ReadableStreamDefaultController<Uint8Array>;
  isEnded = false;
  private silentHeartbeats = 0;
  private settleEnded: () => void = () => {};
  private onPull: () => void = () => {};
  private readonly isUnfiltered: boolean;
  private readonly isWanted: (event: EventEnvelope) => boolean;

  constructor(
    readonly filter: EventStreamFilter,
    public position: number,
    private readonly connection: Pick<RequestConnection, 'destroy'>,
    private readonly authorization: StreamAuthorization,
    private readonly unsentBytesMax: number,
  ) {
    const { type, ...rest } = filter;
    const types = type === undefined ? {} : { types: [type] };
    this.isUnfiltered = Object.keys(filter).length === 0;
    this.isWanted = matcher({ ...rest, ...types, after: 0, limit: 0 });
    this.ended = new Promise((resolve) => {
      this.settleEnded = resolve;
    });
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.controller = controller;
        },
        pull: () => this.onPull(),
        cancel: () => this.markEnded(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: unsentBytesMax }),
    );
  }

  /** The first frame: the browser's reconnect delay and its cursor, so that it can resume even if no event follows. */
  sendHello(): void {
    this.write(Buffer.from(`retry: 1000\nid: ${cursorAt(this.position)}\n\n`));
  }

  /** `allFrames` is all frames in one buffer, which most subscribers get. */
  deliver(events: readonly EncodedEvent[], allFrames: Buffer): void {
    const first = events[0];
    const last = events.at(-1);
    if (first === undefined || last === undefined || last.event.position <= this.position) return;
    if (this.isUnfiltered && first.event.position > this.position) this.write(allFrames);
    else this.send(events.filter(({ event }) => event.position > this.position && this.isWanted(event)));
    this.position = last.event.position;
    if (this.isFull) this.destroy();
  }

  send(events: readonly EncodedEvent[]): void {
    if (events.length > 0) this.write(Buffer.concat(events.map(({ frame }) => frame)));
  }

  /** Resolves when the reader has taken enough that more may be sent, or the response has ended. */
  async drained(): Promise<void> {
    if (this.isEnded || !this.isFull) return;
    await Promise.race([
      this.ended,
      new Promise<void>((resolve) => {
        this.onPull = resolve;
      }),
    ]);
  }

  private write(chunk: Uint8Array): void {
    if (this.isEnded) return;
    if (this.authorization.isStillAuthorized()) this.controller.enqueue(chunk);
    else this.endUnauthorized();
  }

  /** Unsent events are discarded with the connection: the credential may no longer read them. */
  endUnauthorized(): void {
    if (this.isEnded) return;
    if (this.hasUnsent) this.destroy();
    else {
      this.controller.enqueue(UNAUTHORIZED_FRAME);
      this.end();
    }
  }

  end(): void {
    if (this.isEnded) return;
    this.markEnded();
    this.controller.close();
  }

  /** Ends at once. What is unsent is lost; the client resumes with its cursor. */
  destroy(): void {
    if (this.isEnded) return;
    this.markEnded();
    if (this.connection.destroy !== null) this.connection.destroy();
    else this.controller.error(new Error('The event stream was cut off.'));
  }

  markEnded(): void {
    this.isEnded = true;
    this.settleEnded();
  }

  heartbeat(): void {
    this.silentHeartbeats = this.hasUnsent ? this.silentHeartbeats + 1 : 0;
    if (this.silentHeartbeats >= SILENT_HEARTBEATS_MAX) this.destroy();
    else if (this.silentHeartbeats === 0) this.write(HEARTBEAT_FRAME);
    void this.authorization.recheck();
  }

  /** Whether the reader has not taken everything yet. */
  private get hasUnsent(): boolean {
    return (this.controller.desiredSize ?? 0) < this.unsentBytesMax;
  }

  private get isFull(): boolean {
    return (this.controller.desiredSize ?? 0) <= 0;
  }
}

/** The end of one project's log, read once and sent to all subscribers. */
class ProjectFeed {
  readonly subscribers = new Set<StreamSubscriber>();
  private readonly ending = new AbortController();
  private pendingEvents: EncodedEvent[] = [];
  /** Position of the last event read. */
  private latestPosition: number;
  private cooldownUntilMs = 0;

  constructor(
    private readonly events: EventFeed,
    private readonly projectKey: ProjectKey,
    /** Events up to here have been sent to the subscribers that had caught up. */
    public position: number,
  ) {
    this.latestPosition = position;
    void this.read();
  }

  /** Number of events read but not yet sent to the slowest subscriber. */
  get lag(): number {
    let behind = 0;
    for (const { position } of this.subscribers) behind = Math.max(behind, this.latestPosition - position);
    return behind;
  }

  get isEnded(): boolean {
    return this.ending.signal.aborted;
  }

  end(): void {
    this.ending.abort();
    for (const subscriber of this.subscribers) subscriber.end();
  }

  /** Sends pages from the log until the subscriber has reached the feed's position, then lets it join the broadcasts. */
  async catchUp(subscriber: StreamSubscriber): Promise<void> {
    while (!subscriber.isEnded && !this.isEnded) {
      const feedPosition = this.position;
      const after = cursorAt(subscriber.position);
      const page = await this.retryUnavailable(async () => {
        const reply = await this.events.page(this.projectKey, {
          ...subscriber.filter,
          after,
          limit: PAGE_EVENTS_MAX,
        });
        if (isProblem(reply) && reply.problem === 'UNAVAILABLE') throw new StoreUnavailable(reply.detail);
        return reply;
      });
      if (isProblem(page)) return subscriber.destroy();
      subscriber.send(page.events.map(encodeEvent));
      const last = page.events.at(-1)?.position ?? subscriber.position;
      // Only an empty page shows the end of the log, which is at or beyond the feed's position before the read: a page
      // may be cut at its size.
      const isEnd = page.events.length === 0;
      subscriber.position = isEnd ? Math.max(last, feedPosition) : last;
      await subscriber.drained();
      if (isEnd && subscriber.position >= this.position) {
        subscriber.isCaughtUp = true;
        return;
      }
    }
  }

  /** Ends the feed if `follow` fails, or ends by itself because the log became shorter: clients reconnect. */
  private async read(): Promise<void> {
    const { signal } = this.ending;
    let position = this.position;
    const follow = async (succeeded: () => void): Promise<void> => {
      for await (const { event } of this.events.follow(this.projectKey, cursorAt(position), signal)) {
        succeeded();
        position = event.position;
        this.latestPosition = position;
        if (this.pendingEvents.length === 0) this.scheduleBroadcast();
        this.pendingEvents.push(encodeEvent(event));
      }
    };
    await this.retryUnavailable(follow).catch(() => {});
    this.end();
  }

  /** Repeats a read, with a backoff, while the store is unavailable and the feed has not ended. */
  private async retryUnavailable<Result>(read: (succeeded: () => void) => Promise<Result>): Promise<Result> {
    let failures = 0;
    const succeeded = (): void => {
      failures = 0;
    };
    for (;;) {
      try {
        return await read(succeeded);
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || this.isEnded) throw error;
        failures += 1;
        const waitMs = backoffMs(failures, Math.random());
        await sleep(waitMs, undefined, { ref: false });
      }
    }
  }

  /**
   * Events that arrive before the broadcast are sent together, so
   * that with many subscribers most time is left for commands.
   */
  private scheduleBroadcast(): void {
    const cooldownMs = this.cooldownUntilMs - performance.now();
    if (cooldownMs > 0) setTimeout(() => this.broadcast(), cooldownMs).unref();
    else setImmediate(() => this.broadcast());
  }

  private broadcast(): void {
    const beganMs = performance.now();
    const { pendingEvents: events } = this;
    this.pendingEvents = [];
    const allFrames = Buffer.concat(events.map(({ frame }) => frame));
    for (const subscriber of this.subscribers)
      if (subscriber.isCaughtUp) subscriber.deliver(events, allFrames);
    this.position = events.at(-1)?.event.position ?? this.position;
    const endedMs = performance.now();
    this.cooldownUntilMs = endedMs + (endedMs - beganMs) * COOLDOWN_FACTOR;
  }
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
    const from = position === 'now' ? feed.position : position;
    const { unsent_bytes_max } = this.settings;
    const subscriber = new StreamSubscriber(filter, from, connection, authorization, unsent_bytes_max);
    feed.subscribers.add(subscriber);
    this.openFeeds.add(feed);
    const stopWatching = authorization.onEnd(() => subscriber.endUnauthorized());
    // A client that leaves before it reads the stream does not cancel it.
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
      // Its last subscriber left while this call waited for it.
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
