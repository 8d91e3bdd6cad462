import type { IncomingMessage, ServerResponse } from 'node:http';
import { BodyBuffer } from './body-buffer.js';
import type { BodyReservation } from './body-memory.js';
import { ClientGone, type RequestConnection } from './connection.js';

/** The connection of a request on a socket. Reads headers and body from the socket: a `Request` would copy them first. */
export class NodeConnection implements RequestConnection {
  constructor(
    private readonly incoming: IncomingMessage,
    private readonly outgoing: ServerResponse,
  ) {}

  get remoteAddress(): string | null {
    return this.incoming.socket.remoteAddress ?? null;
  }

  header(name: string): string | null {
    const value = this.incoming.headers[name];
    return typeof value === 'string' ? value : null;
  }

  headers(): Headers {
    const headers = new Headers();
    for (const [name, value] of Object.entries(this.incoming.headers)) {
      if (value !== undefined) headers.set(name, String(value));
    }
    return headers;
  }

  readBody(bytesMax: number, memory: Pick<BodyReservation, 'grow'>): Promise<Uint8Array | null> {
    return readBytes(this.incoming, bytesMax, memory);
  }

  onClose(listener: () => void): () => void {
    const { outgoing } = this;
    const { socket } = this.incoming;
    const stop = (): void => {
      outgoing.off('close', onClosed);
      socket.off('close', onClosed);
    };
    const onClosed = (): void => {
      stop();
      listener();
    };
    if (outgoing.destroyed || socket.destroyed) queueMicrotask(onClosed);
    outgoing.on('close', onClosed);
    // A response that is queued behind another on its connection emits no 'close' when the socket closes.
    socket.on('close', onClosed);
    return stop;
  }

  readonly destroy = (): void => void this.outgoing.destroy();
}

/** Reads the body. If it exceeds the limit or `memory` has no space, discards the rest of it, then resolves with null. */
function readBytes(
  incoming: IncomingMessage,
  bytesMax: number,
  memory: Pick<BodyReservation, 'grow'>,
): Promise<Uint8Array | null> {
  if (Number(incoming.headers['content-length'] ?? 0) > bytesMax) return discardRest(incoming);
  return new Promise((resolve, reject) => {
    const body = new BodyBuffer();
    const refuse = (): void => {
      // From here on, `discardRest` handles the data.
      incoming.off('data', onData);
      resolve(discardRest(incoming));
    };
    const onData = (chunk: Buffer): void => {
      body.add(chunk);
      if (body.length > bytesMax || !memory.grow(body.length)) refuse();
      // Each chunk takes time to parse, however small it is.
      else if (body.hasTinyChunks) incoming.destroy();
    };
    incoming.on('data', onData);
    incoming.on('end', () => resolve(body.bytes()));
    // The 'close' event that follows rejects the promise, so that only one error is created: creating it is expensive.
    incoming.on('error', () => {});
    incoming.on('close', () => {
      if (!incoming.readableEnded) reject(new ClientGone('The client disconnected.'));
    });
  });
}

const DISCARDED_BYTES_MAX = 128 * 1024 * 1024;
const DISCARD_IDLE_MS = 500;

/**
 * Discards the rest of a body before the response. Most clients send everything before they read, and would not see
 * the response if cut off. Stops if the data stalls or exceeds a generous limit.
 */
function discardRest(incoming: IncomingMessage): Promise<null> {
  if (Number(incoming.headers['content-length'] ?? 0) > DISCARDED_BYTES_MAX) return Promise.resolve(null);
  return new Promise((resolve) => {
    let remainingBytes = DISCARDED_BYTES_MAX;
    const onData = (chunk: Buffer): void => {
      remainingBytes -= chunk.length;
      idleTimer.refresh();
      if (remainingBytes < 0) end();
    };
    const end = (): void => {
      clearTimeout(idleTimer);
      incoming.off('data', onData).off('end', end).off('error', end).off('close', end);
      resolve(null);
    };
    const idleTimer = setTimeout(end, DISCARD_IDLE_MS);
    incoming.on('data', onData).on('end', end).on('error', end).on('close', end);
  });
}
