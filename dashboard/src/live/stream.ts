import { createParser } from 'eventsource-parser';
import type { EventEnvelope } from '../../../src/core/contract/events.js';
import { send } from '../api/call.js';

/** The state of the connection. A page that is not live shows since when. */
export type Connection =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  | { readonly state: 'lost'; readonly since: number; readonly says: string }
  | { readonly state: 'paused' }
  | { readonly state: 'key_required' };

interface StreamListener {
  onConnection(connection: Connection): void;
  onEvents(events: readonly EventEnvelope[]): void;
  /** The stream is open. What was read before does not include events from before it was open. */
  onOpen(isInterrupted: boolean): void;
}

/** Where the stream continues after an interruption. */
export interface StreamPosition {
  /** Null before the first stream: it starts with the next event. */
  lastEventId: string | null;
  /** There was a stream before, or the tab was hidden: the page may have missed many events. */
  isInterrupted: boolean;
}

const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 10_000;
/** Three heartbeats of the server without a byte: the connection is dead, even if nothing says so. */
const SILENCE_MAX_MS = 45_000;

/** Follows the events of the project until the signal is aborted, and reconnects where it stopped. */
export async function followEvents(
  listener: StreamListener,
  position: StreamPosition,
  signal: AbortSignal,
): Promise<void> {
  let retryMs = RETRY_FIRST_MS;
  let lostSince: number | null = null;
  while (!signal.aborted) {
    try {
      const response = await send(
        'events_stream',
        { query: { after: position.lastEventId ?? 'now' } },
        signal,
      );
      if (signal.aborted) return;
      if (response.status === 401) {
        listener.onConnection({ state: 'key_required' });
        return;
      }
      // The log was replaced by an older one: the position is beyond its end.
      if (response.status === 409) position.lastEventId = null;
      if (!response.ok || response.body === null) throw new Error(`the server answered ${response.status}`);
      listener.onConnection({ state: 'live' });
      listener.onOpen(position.isInterrupted);
      position.isInterrupted = false;
      [lostSince, retryMs] = [null, RETRY_FIRST_MS];
      await readEvents(response.body, signal, (id, events) => {
        position.lastEventId = id ?? position.lastEventId;
        if (events.length > 0) listener.onEvents(events);
      });
      throw new Error('the stream has ended');
    } catch (error) {
      position.isInterrupted = true;
      if (signal.aborted) return;
      lostSince ??= Date.now();
      const says = error instanceof Error ? error.message : String(error);
      listener.onConnection({ state: 'lost', since: lostSince, says });
      await pause(retryMs, signal);
      retryMs = Math.min(retryMs * 2, RETRY_MAX_MS);
    }
  }
}

/** The server's first frame has a position and no event; the parser reports only events. */
const helloId = (chunk: string): string | undefined => /^id: (.+)$/m.exec(chunk)?.[1];

async function readEvents(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  onChunk: (lastId: string | undefined, events: readonly EventEnvelope[]) => void,
): Promise<void> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  let received: { id: string | undefined; event: EventEnvelope }[] = [];
  const parser = createParser({
    onEvent: ({ id, data }) => void received.push({ id, event: JSON.parse(data) as EventEnvelope }),
  });
  const cancel = () => void reader.cancel().catch(() => {});
  signal.addEventListener('abort', cancel, { once: true });
  let isFirst = true;
  try {
    for (;;) {
      const { done, value } = await withinSilence(reader.read());
      if (done) return;
      if (isFirst) onChunk(helloId(value), []);
      isFirst = false;
      parser.feed(value);
      if (received.length === 0) continue;
      const batch = received;
      received = [];
      onChunk(
        batch.at(-1)?.id,
        batch.map(({ event }) => event),
      );
    }
  } finally {
    signal.removeEventListener('abort', cancel);
    cancel();
  }
}

function withinSilence<T>(read: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the server is silent')), SILENCE_MAX_MS);
    read.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
