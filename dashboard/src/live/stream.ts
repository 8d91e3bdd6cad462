import { createParser } from 'eventsource-parser';
import type { EventEnvelope } from '../../../src/core/contract/events.js';
import { send } from '../api/call.js';

/** The state of the connection. `sinceMs`: when the connection was lost. */
export type Connection =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  | { readonly state: 'lost'; readonly sinceMs: number; readonly message: string }
  | { readonly state: 'paused' }
  | { readonly state: 'key_required' };

interface StreamListener {
  onConnection(connection: Connection): void;
  onEvents(events: readonly EventEnvelope[]): void;
  /**
   * Called when the stream is open. Data that was read before must then be read again; if `isInterrupted`, also data that
   * otherwise counts as fixed.
   */
  onOpen(isInterrupted: boolean): void;
}

/** Where the stream continues after an interruption. */
export interface StreamPosition {
  /** Null before the first stream: it starts with the next event. */
  lastEventId: string | null;
  /** Whether the page may have missed many events, because a stream ended or the tab was hidden. */
  isInterrupted: boolean;
}

const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 10_000;
/** After three heartbeats without a byte the connection counts as dead, even without an error. */
const SILENCE_MAX_MS = 45_000;

/** Follows the events of the project until the signal is aborted, and reconnects where it stopped. */
export async function followEvents(
  listener: StreamListener,
  position: StreamPosition,
  signal: AbortSignal,
): Promise<void> {
  let retryMs = RETRY_FIRST_MS;
  let lostSinceMs: number | null = null;
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
      // The log was replaced by an older log, and the position is beyond its end.
      if (response.status === 409) position.lastEventId = null;
      if (!response.ok || response.body === null)
        throw new Error(`the server returned status ${response.status}`);
      listener.onConnection({ state: 'live' });
      listener.onOpen(position.isInterrupted);
      position.isInterrupted = false;
      [lostSinceMs, retryMs] = [null, RETRY_FIRST_MS];
      await readEvents(response.body, signal, (id, events) => {
        position.lastEventId = id ?? position.lastEventId;
        if (events.length > 0) listener.onEvents(events);
      });
      throw new Error('the stream has ended');
    } catch (error) {
      position.isInterrupted = true;
      if (signal.aborted) return;
      lostSinceMs ??= Date.now();
      const message = error instanceof Error ? error.message : String(error);
      listener.onConnection({ state: 'lost', sinceMs: lostSinceMs, message });
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
      const { done, value } = await withSilenceLimit(reader.read());
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

function withSilenceLimit<T>(read: Promise<T>): Promise<T> {
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
