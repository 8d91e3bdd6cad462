import { setTimeout as sleep } from 'node:timers/promises';
import type { EventEnvelope } from '../core/events/envelope.js';
import { type Http, type HttpRequest, isPermanent, problemOf, retryDelayMs } from './http.js';
import { GenesisError } from './replies.js';
import { FRAME_CHARS_MAX, ReplyTooLarge } from './reply-bytes.js';
import { sharedSignal } from './shared-signal.js';

/** The server says something every 15 seconds: after so long a silence there is nobody there any more. */
const SILENCE_MS = 45_000;

export interface FollowedEvent {
  readonly event: EventEnvelope;
  /** Where to go on from: hand it to `after` and nothing is lost or repeated. */
  readonly cursor: string;
}

/**
 * The feed of a project, over as many connections as it takes. What was yielded last is what the next connection
 * goes on from, so every event comes once and in order.
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

/** A request that the server will never like; what is only busy or not there now is asked again. */
const isFinalStatus = (status: number): boolean =>
  status >= 300 && status < 500 && status !== 429 && status !== 408;

/** Null: a comment, or the server's word on when to come back. A place without data is a place to go on from. */
function parseFrame(block: string): SseFrame | null {
  let id = '';
  const data: string[] = [];
  for (const line of block.split('\n')) {
    if (line.startsWith('id:')) id = line.slice(3).trim();
    else if (line.startsWith('data:')) data.push(line.slice(5).trimStart());
  }
  return data.length === 0 && id === '' ? null : { id, data: data.join('\n') };
}
