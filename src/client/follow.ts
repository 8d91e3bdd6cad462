import { setTimeout as sleep } from 'node:timers/promises';
import type { EventEnvelope } from '../core/events/envelope.js';
import { type Http, type HttpRequest, isPermanent, problemOf, retryDelayMs } from './http.js';
import { GenesisError } from './replies.js';
import { FRAME_CHARS_MAX, ReplyTooLarge } from './reply-bytes.js';
import { sharedSignal } from './shared-signal.js';

/** The server sends at least a heartbeat every 15 seconds; after this much silence the connection is considered dead. */
const SILENCE_MS = 45_000;

export interface FollowedEvent {
  readonly event: EventEnvelope;
  /** Pass it as `after` to resume without losing or repeating an event. */
  readonly cursor: string;
}

/**
 * Streams a project's events, reconnecting as needed. Each connection resumes after the last yielded event, so every
 * event comes once and in order.
 */
export async function* follow(
  http: Http,
  request: HttpRequest,
  signal: AbortSignal,
): AsyncGenerator<FollowedEvent> {
  let cursor: string | undefined;
  for (let failed = 0; !signal.aborted; failed++) {
    const connection = new SseConnection(http, signal);
    try {
      for await (const frame of connection.frames(request, cursor)) {
        failed = 0;
        cursor = frame.id || cursor;
        if (frame.data === '') continue;
        const event = JSON.parse(frame.data) as EventEnvelope;
        yield { event, cursor: frame.id };
      }
    } catch (error) {
      if (error instanceof GenesisError) throw error;
    } finally {
      connection.close();
    }
    if (!signal.aborted) await sleep(retryDelayMs(failed + 1), undefined, { signal }).catch(() => {});
  }
}

interface SseFrame {
  readonly id: string;
  readonly data: string;
}

class SseConnection {
  private readonly ending = new AbortController();
  private readonly abort = () => this.ending.abort();
  private silenceTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly http: Http,
    private readonly signal: AbortSignal,
  ) {
    sharedSignal(signal).addEventListener('abort', this.abort);
  }

  async *frames(request: HttpRequest, cursor: string | undefined): AsyncGenerator<SseFrame> {
    const headers: Record<string, string> = { accept: 'text/event-stream' };
    if (cursor !== undefined) headers['last-event-id'] = cursor;
    this.resetSilenceTimer();
    const response = await this.http.openStream({ ...request, headers }, this.ending.signal);
    if (!response.ok) {
      const problem = await problemOf(response);
      if (isFinalStatus(response.status) || isPermanent(problem)) throw new GenesisError(problem);
      return;
    }
    const text = new TextDecoder();
    let rest = '';
    for await (const chunk of response.body ?? []) {
      this.resetSilenceTimer();
      const blocks = (rest + text.decode(chunk as Uint8Array, { stream: true })).split('\n\n');
      rest = blocks.pop() ?? '';
      if (rest.length > FRAME_CHARS_MAX) {
        throw new GenesisError(new ReplyTooLarge(response.status, FRAME_CHARS_MAX).problem);
      }
      for (const block of blocks) {
        const frame = parseFrame(block);
        if (frame !== null) yield frame;
      }
    }
  }

  close(): void {
    clearTimeout(this.silenceTimer);
    this.signal.removeEventListener('abort', this.abort);
    this.abort();
  }

  private resetSilenceTimer(): void {
    clearTimeout(this.silenceTimer);
    this.silenceTimer = setTimeout(this.abort, SILENCE_MS);
  }
}

/** Whether retrying is pointless. Busy and unavailable servers are retried. */
const isFinalStatus = (status: number): boolean =>
  status >= 300 && status < 500 && status !== 429 && status !== 408;

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
