import { BodyBuffer } from './body-buffer.js';
import type { BodyReservation } from './body-memory.js';

/** The client disconnected while sending its body, so the response has no reader. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/** The connection of a request: what a `Request` object does not contain. */
export interface RequestConnection {
  readonly remoteAddress: string | null;
  /** A header of the request, by its name in lower case. */
  header(name: string): string | null;
  headers(): Headers;
  /**
   * Reads the whole body; null if it has more than `bytesMax` bytes, or if `memory` has no space for it. Throws
   * `ClientGone` if the client disconnects meanwhile.
   */
  readBody(
    bytesMax: number,
    memory: Pick<BodyReservation, 'grow'>,
  ): Uint8Array | null | Promise<Uint8Array | null>;
  /** Calls `listener` once, when the connection closes or if it has closed. Returns a function that removes it. */
  onClose(listener: () => void): () => void;
  /** Closes at once, without sending buffered data. Null if there is no socket. */
  readonly destroy: (() => void) | null;
}

/** The connection of a request that came without a socket: from this process, or from a gateway. */
export class FetchConnection implements RequestConnection {
  readonly remoteAddress: string | null;
  readonly destroy = null;

  /** `outer`: the connection of the call that made this call. */
  constructor(
    private readonly request: Request,
    private readonly outer: RequestConnection | null = null,
  ) {
    this.remoteAddress = outer?.remoteAddress ?? null;
  }

  header(name: string): string | null {
    return this.request.headers.get(name);
  }

  headers(): Headers {
    return this.request.headers;
  }

  async readBody(bytesMax: number, memory: Pick<BodyReservation, 'grow'>): Promise<Uint8Array | null> {
    if (Number(this.request.headers.get('content-length') ?? 0) > bytesMax) return null;
    const body = new BodyBuffer();
    try {
      for await (const chunk of this.request.body ?? []) {
        body.add(chunk);
        if (body.length > bytesMax || !memory.grow(body.length)) return null;
      }
    } catch {
      throw new ClientGone('The client aborted the request.');
    }
    return body.bytes();
  }

  onClose(listener: () => void): () => void {
    const { signal } = this.request;
    if (signal.aborted) queueMicrotask(listener);
    signal.addEventListener('abort', listener, { once: true });
    const stopListening = this.outer?.onClose(listener);
    return () => {
      signal.removeEventListener('abort', listener);
      stopListening?.();
    };
  }
}
