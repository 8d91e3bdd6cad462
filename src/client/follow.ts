import { setTimeout as sleep } from 'node:timers/promises';
import type { EventEnvelope } from '../core/events/envelope.js';
import { withoutUndefined } from '../core/without-undefined.js';
import {
  type Http,
  type HttpRequest,
  isPermanent,
  noAnswerProblem,
  problemOf,
  retryDelayMs,
  withoutListenerLimit,
} from './http.js';
import { type ApiProblem, GenesisError, isTransient } from './replies.js';
import { FRAME_CHARS_MAX, replyTooLargeError } from './reply-bytes.js';

/** The server sends at least a heartbeat every 15 seconds; after this much silence the connection is considered dead. */
const SILENCE_MS = 45_000;

export interface FollowedEvent {
  readonly event: EventEnvelope;
  /** Pass it as `after` to resume without losing or repeating an event. */
  readonly cursor: string;
}

/** Called when the stream is connected, and before each retry after a failure. */
export interface FollowObserver {
  readonly on_connect?: () => void;
  readonly on_retry?: (problem: ApiProblem) => void;
}

/**
 * Streams a project's events, reconnecting as needed. Each connection resumes after the last yielded event, so every
 * event comes once and in order.
 */
export async function* follow(
  http: Http,
  request: HttpRequest,
  signal: AbortSignal,
  observer: FollowObserver = {},
): AsyncGenerator<FollowedEvent> {
  let cursor: string | undefined;
  for (let failureCount = 0; !signal.aborted; failureCount++) {
    try {
      for await (const frame of framesOf(http, request, cursor, signal, observer)) {
        failureCount = 0;
        cursor = frame.id || cursor;
        if (frame.data === '') continue;
        const event = JSON.parse(frame.data) as EventEnvelope;
        yield { event, cursor: frame.id };
      }
    } catch (error) {
      if (error instanceof GenesisError) throw error;
      if (!signal.aborted) observer.on_retry?.(retryProblem(http, error));
    }
    if (!signal.aborted) await sleep(retryDelayMs(failureCount + 1), undefined, { signal }).catch(() => {});
  }
}

/** A failure that a retry may resolve. */
class TransientProblem extends Error {
  constructor(readonly problem: ApiProblem) {
    super(problem.detail);
  }
}

const retryProblem = (http: Http, error: unknown): ApiProblem =>
  error instanceof TransientProblem ? error.problem : noAnswerProblem(http.options.url, error);

interface SseFrame {
  readonly id: string;
  readonly data: string;
}

/** Yields the frames of one connection. The connection closes when this generator ends, on abort, or after a silence. */
async function* framesOf(
  http: Http,
  request: HttpRequest,
  cursor: string | undefined,
  signal: AbortSignal,
  { on_connect }: FollowObserver,
): AsyncGenerator<SseFrame> {
  const connectionController = new AbortController();
  const close = () => connectionController.abort();
  withoutListenerLimit(signal).addEventListener('abort', close);
  const silenceTimer = setTimeout(close, SILENCE_MS);
  try {
    const headers = withoutUndefined({ accept: 'text/event-stream', 'last-event-id': cursor });
    const response = await http.open({ ...request, headers }, connectionController.signal);
    if (!response.ok) {
      const problem = await problemOf(response);
      if (!isTransient(problem) || isPermanent(problem)) throw new GenesisError(problem);
      throw new TransientProblem(problem);
    }
    on_connect?.();
    const text = new TextDecoder();
    let incompleteFrame = '';
    for await (const chunk of response.body ?? []) {
      silenceTimer.refresh();
      const blocks = (incompleteFrame + text.decode(chunk as Uint8Array, { stream: true })).split('\n\n');
      incompleteFrame = blocks.pop() ?? '';
      if (incompleteFrame.length > FRAME_CHARS_MAX)
        throw replyTooLargeError(response.status, `${FRAME_CHARS_MAX} characters per event`);
      yield* blocks.map(parseFrame).filter((frame) => frame !== null);
    }
  } finally {
    clearTimeout(silenceTimer);
    signal.removeEventListener('abort', close);
    close();
  }
}

/** Null for comments and retry frames. A frame with an id but no data still moves the cursor. */
function parseFrame(block: string): SseFrame | null {
  let id = '';
  const data: string[] = [];
  for (const line of block.split('\n')) {
    if (line.startsWith('id:')) id = line.slice(3).trim();
    else if (line.startsWith('data:')) data.push(line.slice(5).trimStart());
  }
  return data.length === 0 && id === '' ? null : { id, data: data.join('\n') };
}
