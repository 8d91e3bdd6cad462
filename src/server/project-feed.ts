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

/** The end of one project's log, read once and sent to all subscribers. */
export class ProjectFeed {
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
