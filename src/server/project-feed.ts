import { setTimeout as sleep } from 'node:timers/promises';
import { cursorAt } from '../coordinator/queries/cursor.js';
import type { EventFeed } from '../coordinator/queries/feed.js';
import { storeRetryDelayMs } from '../coordinator/queue/backoff.js';
import { isProblem } from '../coordinator/wire/problem.js';
import { type ProjectKey, StoreUnavailable } from '../stores/store.js';
import { type EncodedEvent, encodeEvent, type StreamSubscriber } from './stream-subscriber.js';

const PAGE_EVENTS_MAX = 1000;
/** After a broadcast, pause this many times its duration. */
const COOLDOWN_FACTOR = 4;

/** Reads the new events of one project's log once, and sends them to all subscribers. */
export class ProjectFeed {
  readonly subscribers = new Set<StreamSubscriber>();
  private readonly endController = new AbortController();
  private pendingEvents: EncodedEvent[] = [];
  /** Position of the last event read. */
  private latestPosition: number;
  private cooldownUntilMs = 0;

  constructor(
    private readonly events: EventFeed,
    private readonly projectKey: ProjectKey,
    /** Events up to this position have been sent to the subscribers that had caught up. */
    public position: number,
  ) {
    this.latestPosition = position;
    void this.readNewEvents();
  }

  /** Number of events read but not yet sent to the slowest subscriber. */
  get lag(): number {
    let lag = 0;
    for (const { position } of this.subscribers) lag = Math.max(lag, this.latestPosition - position);
    return lag;
  }

  get isEnded(): boolean {
    return this.endController.signal.aborted;
  }

  end(): void {
    this.endController.abort();
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
      const lastPosition = page.events.at(-1)?.position ?? subscriber.position;
      // Only an empty page shows the end of the log, because a page may be cut at its maximum size. The end is at or
      // beyond the position that the feed had before the read.
      const isEnd = page.events.length === 0;
      subscriber.position = isEnd ? Math.max(lastPosition, feedPosition) : lastPosition;
      await subscriber.drained();
      if (isEnd && subscriber.position >= this.position) {
        subscriber.isCaughtUp = true;
        return;
      }
    }
  }

  /**
   * Reads until this feed ends, or until `follow` ends because the log became shorter, or fails for another reason than an
   * unavailable store. Then ends the feed, and clients reconnect.
   */
  private async readNewEvents(): Promise<void> {
    const { signal } = this.endController;
    let position = this.position;
    const follow = async (onProgress: () => void): Promise<void> => {
      for await (const { event } of this.events.follow(this.projectKey, cursorAt(position), signal)) {
        onProgress();
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
  private async retryUnavailable<Result>(read: (onProgress: () => void) => Promise<Result>): Promise<Result> {
    let failures = 0;
    const onProgress = (): void => {
      failures = 0;
    };
    for (;;) {
      try {
        return await read(onProgress);
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || this.isEnded) throw error;
        failures += 1;
        const waitMs = storeRetryDelayMs(failures, Math.random());
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
    const startMs = performance.now();
    const { pendingEvents: events } = this;
    this.pendingEvents = [];
    const allFrames = Buffer.concat(events.map(({ frame }) => frame));
    for (const subscriber of this.subscribers)
      if (subscriber.isCaughtUp) subscriber.deliver(events, allFrames);
    this.position = events.at(-1)?.event.position ?? this.position;
    const endedMs = performance.now();
    this.cooldownUntilMs = endedMs + (endedMs - startMs) * COOLDOWN_FACTOR;
  }
}
