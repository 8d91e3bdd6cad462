import type { ServerResponse } from 'node:http';
import { backoffMs } from '../coordinator/backoff.js';
import { cursorAt } from '../coordinator/cursor.js';
import { isProblem } from '../coordinator/problem.js';
import type { EventFeed, EventFilter } from '../coordinator/queries/feed.js';
import type { EventEnvelope } from '../core/events/envelope.js';
import { matcher } from '../stores/matches.js';
import { type ProjectKey, type Store, StoreUnavailable } from '../stores/store.js';
import { STREAM_HEADERS } from './answer.js';
import { ALWAYS_AUTHORIZED, type Authorization } from './auth/authorization.js';

const PAGE = 1000;
/** A telling is followed by a rest so many times as long. */
const REST_PER_TELLING = 4;
/** How long a browser waits before it comes back, and from where: also if nothing happens until then. */
const helloAt = (position: number): string => `retry: 1000\nid: ${cursorAt(position)}\n\n`;
const HEARTBEAT = ': still here\n\n';
const UNAUTHORIZED = ': ended: the credential of this stream was revoked or has expired\n\n';
/** A listener that takes nothing for so many heartbeats is gone, or as good as gone. */
const SILENT_HEARTBEATS_MAX = 2;

type StreamAuthorization = Pick<Authorization, 'isStillAuthorized' | 'onEnd' | 'recheck'>;

export interface FeedSettings {
  readonly heartbeat_ms: number;
  /** What may wait for one listener. Beyond it the listener is cut off, and comes back with its cursor. */
  readonly unsent_bytes_max: number;
}
const SETTINGS: FeedSettings = { heartbeat_ms: 15_000, unsent_bytes_max: 1024 * 1024 };

/** What a listener asks for, beside where it begins. */
export type Wanted = Omit<EventFilter, 'after' | 'limit'>;

interface Piece {
  readonly event: EventEnvelope;
  /** As it goes over the wire, made once for everybody. */
  readonly frame: Buffer;
}

const pieceOf = (event: EventEnvelope): Piece => ({
  event,
  frame: Buffer.from(`id: ${cursorAt(event.position)}\ndata: ${JSON.stringify(event)}\n\n`),
});

/** One connection that listens. It is at a position, and is told nothing at or before it. */
class Listener {
  joined = false;
  private silent = 0;

  constructor(
    readonly out: ServerResponse,
    readonly wanted: Wanted,
    public position: number,
    private readonly unsent_bytes_max: number,
    private readonly authorization: StreamAuthorization,
  ) {
    const { type, ...rest } = wanted;
    const types = type === undefined ? {} : { types: [type] };
    this.matches =
      Object.keys(wanted).length === 0 ? null : matcher({ ...rest, ...types, after: 0, limit: 0 });
  }

  /** Null: everything is wanted. */
  private readonly matches: ((event: EventEnvelope) => boolean) | null;

  greet(): void {
    this.write(helloAt(this.position));
  }

  /** `whole`: all the pieces in one, which is what most listeners get. */
  tell(pieces: readonly Piece[], whole: Buffer): void {
    const first = pieces[0];
    const last = pieces.at(-1);
    if (first === undefined || last === undefined || last.event.position <= this.position) return;
    if (this.matches === null && first.event.position > this.position) this.write(whole);
    else this.send(pieces.filter(({ event }) => event.position > this.position && this.wants(event)));
    this.position = last.event.position;
    if (this.out.writableLength > this.unsent_bytes_max) this.out.destroy();
  }

  send(pieces: readonly Piece[]): void {
    if (pieces.length > 0) this.write(Buffer.concat(pieces.map(({ frame }) => frame)));
  }

  private write(chunk: Buffer | string): void {
    if (this.out.writableEnded) return;
    if (this.authorization.isStillAuthorized()) this.out.write(chunk);
    else this.endUnauthorized();
  }

  /** Events that wait to be sent are thrown away with the connection: they are not for this credential any more. */
  endUnauthorized(): void {
    if (this.out.writableEnded) return;
    if (this.out.writableLength > 0) this.out.destroy();
    else this.out.end(UNAUTHORIZED);
  }

  beat(): void {
    this.silent = this.out.writableNeedDrain ? this.silent + 1 : 0;
    if (this.silent >= SILENT_HEARTBEATS_MAX) this.out.destroy();
    else if (this.silent === 0) this.write(HEARTBEAT);
    void this.authorization.recheck();
  }

  private wants(event: EventEnvelope): boolean {
    return this.matches === null || this.matches(event);
  }
}

/** The end of one project's log, read once and told to all who listen. */
class Feed {
  readonly listeners = new Set<Listener>();
  private readonly ending = new AbortController();
  private pieces: Piece[] = [];
  /** The last event read. */
  private latest: number;
  private rest_until_ms = 0;

  constructor(
    private readonly events: EventFeed,
    private readonly key: ProjectKey,
    /** Everything up to here was told to those who had joined. */
    public position: number,
  ) {
    this.latest = position;
    void this.read();
  }

  /** Events that were read and that somebody who listens has not been told yet. */
  get lag(): number {
    let behind = 0;
    for (const { position } of this.listeners) behind = Math.max(behind, this.latest - position);
    return behind;
  }

  get ended(): boolean {
    return this.ending.signal.aborted;
  }

  end(): void {
    this.ending.abort();
    for (const { out } of this.listeners) out.end();
  }

  /** Reads on from the log until the listener stands where everybody stands, and lets it join them. */
  async bringUp(listener: Listener): Promise<void> {
    const { out } = listener;
    while (!out.destroyed && !out.writableEnded && !this.ending.signal.aborted) {
      const seen = this.position;
      const after = cursorAt(listener.position);
      const page = await this.events.page(this.key, { ...listener.wanted, after, limit: PAGE });
      if (isProblem(page)) return void out.destroy();
      listener.send(page.events.map(pieceOf));
      const last = page.events.at(-1)?.position ?? listener.position;
      // A page that is not full was read to the end, and that lies at or beyond what was told by then.
      listener.position = page.events.length < PAGE ? Math.max(last, seen) : last;
      if (out.writableNeedDrain) await drained(out);
      if (page.events.length < PAGE && listener.position >= this.position) {
        listener.joined = true;
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
          this.latest = position;
          if (this.pieces.length === 0) this.tellSoon();
          this.pieces.push(pieceOf(event));
        }
        // It ends by itself only where the log is shorter than it was: whoever comes back is told so.
        if (!signal.aborted) return this.end();
      } catch (error) {
        // Whoever listens comes back with its cursor, to whatever server is there then.
        if (!(error instanceof StoreUnavailable)) return this.end();
        failures += 1;
        const waitMs = backoffMs(failures, Math.random());
        await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
      }
    }
  }

  /** What happens until then is told together: however many listen, most of the time is left for commands. */
  private tellSoon(): void {
    const rest_ms = this.rest_until_ms - performance.now();
    if (rest_ms > 0) setTimeout(() => this.tellAll(), rest_ms).unref();
    else setImmediate(() => this.tellAll());
  }

  private tellAll(): void {
    const began_ms = performance.now();
    const { pieces } = this;
    this.pieces = [];
    const whole = Buffer.concat(pieces.map(({ frame }) => frame));
    for (const listener of this.listeners) if (listener.joined) listener.tell(pieces, whole);
    this.position = pieces.at(-1)?.event.position ?? this.position;
    const ended_ms = performance.now();
    this.rest_until_ms = ended_ms + (ended_ms - began_ms) * REST_PER_TELLING;
  }
}

/** All that is listened to on this server: one feed per project, for as long as somebody listens to it. */
export class Feeds {
  private readonly feeds = new Map<string, Promise<Feed>>();
  private readonly heart: NodeJS.Timeout;
  /** Those of them that are there, and have not ended. */
  private readonly open_feeds = new Set<Feed>();
  private closed = false;

  constructor(
    private readonly events: EventFeed,
    private readonly store: Store,
    private readonly settings: FeedSettings = SETTINGS,
  ) {
    this.heart = setInterval(() => void this.beat(), settings.heartbeat_ms).unref();
  }

  /** Answers with the events after `position`, or after now, for as long as the connection lives. */
  async listen(
    key: ProjectKey,
    wanted: Wanted,
    position: number | 'now',
    out: ServerResponse,
    authorization: StreamAuthorization = ALWAYS_AUTHORIZED,
  ): Promise<void> {
    const name = `${key.tenant_id}/${key.project_id}`;
    const feed = await this.feedOf(name, key);
    const from = position === 'now' ? feed.position : position;
    const listener = new Listener(out, wanted, from, this.settings.unsent_bytes_max, authorization);
    feed.listeners.add(listener);
    this.open_feeds.add(feed);
    const stopWatching = authorization.onEnd(() => listener.endUnauthorized());
    const leave = (): void => {
      stopWatching();
      feed.listeners.delete(listener);
      if (feed.listeners.size > 0) return;
      feed.end();
      this.open_feeds.delete(feed);
    };
    if (out.destroyed) return leave();
    out.once('close', leave);
    out.writeHead(200, STREAM_HEADERS);
    // It asked before the server began to stop, and is answered after.
    if (this.closed) return void out.end();
    listener.greet();
    await feed.bringUp(listener).catch(() => out.destroy());
  }

  /** Events that the slowest of all who listen is behind. */
  lag(): number {
    return Math.max(0, ...[...this.open_feeds].map((feed) => feed.lag));
  }

  listeners(): number {
    let count = 0;
    for (const feed of this.open_feeds) count += feed.listeners.size;
    return count;
  }

  /** Ends every stream: its listeners come back, with their cursors, to whoever serves then. */
  async close(): Promise<void> {
    this.closed = true;
    clearInterval(this.heart);
    for (const feed of await Promise.allSettled(this.feeds.values())) {
      if (feed.status === 'fulfilled') feed.value.end();
    }
  }

  private async feedOf(name: string, key: ProjectKey): Promise<Feed> {
    for (;;) {
      const opening = this.feeds.get(name) ?? this.open(name, key);
      const feed = await opening;
      if (!feed.ended) return feed;
      // Its last listener left while we waited for it.
      if (this.feeds.get(name) === opening) this.feeds.delete(name);
    }
  }

  private open(name: string, key: ProjectKey): Promise<Feed> {
    const opening = this.store.project(key).then((row) => new Feed(this.events, key, row?.position ?? 0));
    this.feeds.set(name, opening);
    opening.catch(() => this.feeds.delete(name));
    return opening;
  }

  private async beat(): Promise<void> {
    for (const [name, opening] of this.feeds) {
      const feed = await opening.catch(() => null);
      if (feed?.ended) this.feeds.delete(name);
      for (const listener of feed?.listeners ?? []) listener.beat();
    }
  }
}

function drained(out: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      out.off('drain', done).off('close', done);
      resolve();
    };
    out.on('drain', done).on('close', done);
  });
}
