import type { ServerResponse } from 'node:http';
import { cursorAt } from '../coordinator/queries/cursor.js';
import type { EventFeed, EventFilter } from '../coordinator/queries/feed.js';
import { backoffMs } from '../coordinator/queue/backoff.js';
import { isProblem } from '../coordinator/wire/problem.js';
import type { EventEnvelope } from '../core/events/envelope.js';
import { matcher } from '../stores/event-matcher.js';
import { type ProjectKey, type Store, StoreUnavailable } from '../stores/store.js';
import { ALWAYS_AUTHORIZED, type Authorization } from './auth/authorization.js';
import { STREAM_HEADERS } from './response.js';

const PAGE_EVENTS_MAX = 1000;
/** After a broadcast, pause this many times its duration. */
const COOLDOWN_FACTOR = 4;
/** First frame: the browser's reconnect delay and its cursor, so that it can resume even if no event follows. */
const helloFrame = (position: number): string => `retry: 1000\nid: ${cursorAt(position)}\n\n`;
const HEARTBEAT_FRAME = ': still here\n\n';
const UNAUTHORIZED_FRAME = ': ended: the credential of this stream was revoked or has expired\n\n';
/** A subscriber that reads nothing for this many heartbeats is disconnected. */
const SILENT_HEARTBEATS_MAX = 2;

type StreamAuthorization = Pick<Authorization, 'isStillAuthorized' | 'onEnd' | 'recheck'>;

export interface FeedSettings {
  readonly heartbeat_ms: number;
  /** Maximum number of unsent bytes per subscriber. Beyond it, the subscriber is disconnected and resumes with its cursor. */
  readonly unsent_bytes_max: number;
}
const DEFAULT_FEED_SETTINGS: FeedSettings = { heartbeat_ms: 15_000, unsent_bytes_max: 1024 * 1024 };

/** A subscriber's filter, without its start position. */
export type EventStreamFilter = Omit<EventFilter, 'after' | 'limit'>;

interface EncodedEvent {
  readonly event: EventEnvelope;
  /** The event as sent, encoded once for all subscribers. */
  readonly frame: Buffer;
}

const encodeEvent = (event: EventEnvelope): EncodedEvent => ({
  event,
  frame: Buffer.from(`id: ${cursorAt(event.position)}\ndata: ${JSON.stringify(event)}\n\n`),
});

/** One streaming connection with its position. Events up to that position are not sent again. */
class StreamSubscriber {
  isCaughtUp = false;
  private silentHeartbeats = 0;

  constructor(
    readonly response: ServerResponse,
    readonly filter: EventStreamFilter,
    public position: number,
    private readonly unsentBytesMax: number,
    private readonly authorization: StreamAuthorization,
  ) {
    const { type, ...rest } = filter;
    const types = type === undefined ? {} : { types: [type] };
    this.matches =
      Object.keys(filter).length === 0 ? null : matcher({ ...rest, ...types, after: 0, limit: 0 });
  }

  /** Null if every event matches. */
  private readonly matches: ((event: EventEnvelope) => boolean) | null;

  sendHello(): void {
    this.write(helloFrame(this.position));
  }

  /** `allFrames` is all frames in one buffer, which most subscribers get. */
  deliver(events: readonly EncodedEvent[], allFrames: Buffer): void {
    const first = events[0];
    const last = events.at(-1);
    if (first === undefined || last === undefined || last.event.position <= this.position) return;
    if (this.matches === null && first.event.position > this.position) this.write(allFrames);
    else this.send(events.filter(({ event }) => event.position > this.position && this.matchesFilter(event)));
    this.position = last.event.position;
    if (this.response.writableLength > this.unsentBytesMax) this.response.destroy();
  }

  send(events: readonly EncodedEvent[]): void {
    if (events.length > 0) this.write(Buffer.concat(events.map(({ frame }) => frame)));
  }

  private write(chunk: Buffer | string): void {
    if (this.response.writableEnded) return;
    if (this.authorization.isStillAuthorized()) this.response.write(chunk);
    else this.endUnauthorized();
  }

  /** Unsent events are discarded with the connection: the credential may no longer read them. */
  endUnauthorized(): void {
    if (this.response.writableEnded) return;
    if (this.response.writableLength > 0) this.response.destroy();
    else this.response.end(UNAUTHORIZED_FRAME);
  }

  heartbeat(): void {
    this.silentHeartbeats = this.response.writableNeedDrain ? this.silentHeartbeats + 1 : 0;
    if (this.silentHeartbeats >= SILENT_HEARTBEATS_MAX) this.response.destroy();
    else if (this.silentHeartbeats === 0) this.write(HEARTBEAT_FRAME);
    void this.authorization.recheck();
  }

  private matchesFilter(event: EventEnvelope): boolean {
    return this.matches === null || this.matches(event);
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
    private readonly key: ProjectKey,
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
    for (const { response } of this.subscribers) response.end();
  }

  /** Sends pages from the log until the subscriber has reached the feed's position, then lets it join the broadcasts. */
  async catchUp(subscriber: StreamSubscriber): Promise<void> {
    const { response } = subscriber;
    while (!response.destroyed && !response.writableEnded && !this.ending.signal.aborted) {
      const feedPosition = this.position;
      const after = cursorAt(subscriber.position);
      const page = await this.events.page(this.key, { ...subscriber.filter, after, limit: PAGE_EVENTS_MAX });
      if (isProblem(page)) return void response.destroy();
      subscriber.send(page.events.map(encodeEvent));
      const last = page.events.at(-1)?.position ?? subscriber.position;
      // An incomplete page reached the end of the log, which is at or beyond the feed's position before the read.
      subscriber.position = page.events.length < PAGE_EVENTS_MAX ? Math.max(last, feedPosition) : last;
      if (response.writableNeedDrain) await waitForDrain(response);
      if (page.events.length < PAGE_EVENTS_MAX && subscriber.position >= this.position) {
        subscriber.isCaughtUp = true;
        return;
      }
    }
  }

  private async read(): Promise<void> {
    const { signal } = this.ending;
    let position = this.position;
    let failures = 0;
    while (!signal.aborted) {
      try {
        for await (const { event } of this.events.follow(this.key, cursorAt(position), signal)) {
          failures = 0;
          position = event.position;
          this.latestPosition = position;
          if (this.pendingEvents.length === 0) this.scheduleBroadcast();
          this.pendingEvents.push(encodeEvent(event));
        }
        // `follow` ends by itself only if the log became shorter. Reconnecting clients get that as a problem.
        if (!signal.aborted) return this.end();
      } catch (error) {
        // Clients reconnect with their cursor, to whichever server is available.
        if (!(error instanceof StoreUnavailable)) return this.end();
        failures += 1;
        const waitMs = backoffMs(failures, Math.random());
        await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
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

  /** Streams the events after `position`, or from now on, until the connection closes. */
  async subscribe(
    key: ProjectKey,
    filter: EventStreamFilter,
    position: number | 'now',
    response: ServerResponse,
    authorization: StreamAuthorization = ALWAYS_AUTHORIZED,
  ): Promise<void> {
    const name = `${key.tenant_id}/${key.project_id}`;
    const feed = await this.feedOf(name, key);
    const from = position === 'now' ? feed.position : position;
    const subscriber = new StreamSubscriber(
      response,
      filter,
      from,
      this.settings.unsent_bytes_max,
      authorization,
    );
    feed.subscribers.add(subscriber);
    this.openFeeds.add(feed);
    const stopWatching = authorization.onEnd(() => subscriber.endUnauthorized());
    const leave = (): void => {
      stopWatching();
      feed.subscribers.delete(subscriber);
      if (feed.subscribers.size > 0) return;
      feed.end();
      this.openFeeds.delete(feed);
    };
    if (response.destroyed) return leave();
    response.once('close', leave);
    response.writeHead(200, STREAM_HEADERS);
    // The request arrived before the server began to stop.
    if (this.isClosed) return void response.end();
    subscriber.sendHello();
    await feed.catchUp(subscriber).catch(() => response.destroy());
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

  private async feedOf(name: string, key: ProjectKey): Promise<ProjectFeed> {
    for (;;) {
      const opening = this.feeds.get(name) ?? this.open(name, key);
      const feed = await opening;
      if (!feed.isEnded) return feed;
      // Its last subscriber left while this call waited for it.
      if (this.feeds.get(name) === opening) this.feeds.delete(name);
    }
  }

  private open(name: string, key: ProjectKey): Promise<ProjectFeed> {
    const opening = this.store
      .project(key)
      .then((row) => new ProjectFeed(this.events, key, row?.position ?? 0));
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

function waitForDrain(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}
