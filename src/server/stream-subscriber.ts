import { cursorAt } from '../coordinator/queries/cursor.js';
import type { EventFilter } from '../core/contract/events.js';
import type { EventEnvelope } from '../core/events/envelope.js';
import { eventMatcher } from '../stores/event-matcher.js';
import type { Authorization } from './auth/authorization.js';
import type { RequestConnection } from './connection.js';

const HEARTBEAT_FRAME = Buffer.from(': still here\n\n');
const UNAUTHORIZED_FRAME = Buffer.from(
  ': ended: the credential of this stream was revoked or has expired\n\n',
);
/** A subscriber that has unread data at this many heartbeats in a row is disconnected. */
const SILENT_HEARTBEATS_MAX = 2;

export type StreamAuthorization = Pick<Authorization, 'isStillAuthorized' | 'onEnd' | 'recheck'>;

/** A subscriber's filter, without its start position. */
export type EventStreamFilter = Omit<EventFilter, 'after' | 'limit'>;

export interface EncodedEvent {
  readonly event: EventEnvelope;
  /** The event as sent, encoded once for all subscribers. */
  readonly frame: Buffer;
}

export const encodeEvent = (event: EventEnvelope): EncodedEvent => ({
  event,
  frame: Buffer.from(`id: ${cursorAt(event.position)}\ndata: ${JSON.stringify(event)}\n\n`),
});

/** One streaming response with its position. Events up to that position are not sent again. */
export class StreamSubscriber {
  isCaughtUp = false;
  readonly body: ReadableStream<Uint8Array>;
  /** Resolves when the client or the server has ended the response. */
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
    const { type, ...fields } = filter;
    const types = type === undefined ? {} : { types: [type] };
    this.isUnfiltered = Object.keys(filter).length === 0;
    this.isWanted = eventMatcher({ ...fields, ...types, after: 0, limit: 0 });
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

  /** Sends the first frame: a reconnect delay and a cursor, with which the client can resume even if no event follows. */
  sendHello(): void {
    this.write(Buffer.from(`retry: 1000\nid: ${cursorAt(this.position)}\n\n`));
  }

  /** Sends new events. `allFrames` has the frames of all events in one buffer, for subscribers without a filter. */
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

  /** Resolves when more may be sent because the reader has read enough, or when the response has ended. */
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

  /** Ends the response of a credential that is no longer valid. Discards unsent events, which it may no longer read. */
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

  /** Ends at once. Unsent events are lost; the client resumes with its cursor. */
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

  /** Whether the client has not read everything yet. */
  private get hasUnsent(): boolean {
    return (this.controller.desiredSize ?? 0) < this.unsentBytesMax;
  }

  private get isFull(): boolean {
    return (this.controller.desiredSize ?? 0) <= 0;
  }
}
