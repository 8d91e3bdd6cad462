import type { Socket } from 'node:net';
import type { BodyReservation } from './body-memory.js';
import type { RequestConnection } from './connection.js';
import type { OpenConnections, PendingResponse } from './open-connections.js';
import type { HttpResponse } from './response.js';
import type { ResponseTexts, TextResponse } from './response-text.js';
import type { App, RouteMatch } from './route.js';
import { readWholeRequest, type WholeRequest } from './whole-request.js';

/** What the connections of one listener share. */
interface DirectAnswering {
  readonly app: Pick<App, 'match' | 'respond'>;
  readonly connections: OpenConnections;
  readonly texts: ResponseTexts;
  /** How long a connection may have no traffic in either direction. */
  readonly idleMs: number;
  /** Serves the connection by Node's HTTP server from here on. */
  readonly handOver: (socket: Socket) => void;
}

/**
 * Answers the requests of one connection without Node's HTTP server, whose objects for a request and its response cost as
 * much as a command. Hands the connection over to Node's HTTP server for good at the first request that does not arrive
 * whole, has no route or a reply other than JSON, or arrives before the request before it is answered.
 */
export class DirectConnection {
  private current: DirectRequest | null = null;
  /** The bytes that arrived before the current request was answered. */
  private early: Buffer | null = null;

  constructor(
    private readonly socket: Socket,
    private readonly shared: DirectAnswering,
  ) {
    socket.setTimeout(shared.idleMs);
    socket.on('data', this.onData).on('end', this.onEnd).on('timeout', this.onTimeout);
    socket.on('error', ignoreError).on('close', this.onClosed);
  }

  private readonly onData = (bytes: Buffer): void => {
    if (this.current === null) {
      this.answerOrHandOver(bytes);
      return;
    }
    this.early = this.early === null ? bytes : Buffer.concat([this.early, bytes]);
    this.socket.pause();
  };

  private answerOrHandOver(bytes: Buffer): void {
    const request = readWholeRequest(bytes);
    const match = request === null ? null : this.shared.app.match(request);
    if (request === null || match === null || 'content_type' in match.route.reply) {
      this.handOver(bytes);
      return;
    }
    const current = new DirectRequest(this.socket, request, match);
    if (!this.shared.connections.admitRequest(this.socket, current)) return;
    this.current = current;
    void this.shared.app.respond(current).then((response) => this.send(current, response));
  }

  private send(request: DirectRequest, response: HttpResponse): void {
    const { socket, shared } = this;
    // The client is gone; `onClosed` has ended the request.
    if (!socket.writable) return;
    // A route that replies with JSON has text as its body.
    const { body } = response as TextResponse;
    const bodyBytes = Buffer.byteLength(body);
    const isLast = !request.shouldKeepAlive || response.headers.connection === 'close';
    const text = shared.texts.text(response as TextResponse, bodyBytes, !isLast);
    // Most text is ASCII, and ASCII is written faster as Latin-1.
    socket.write(text, bodyBytes === body.length ? 'latin1' : 'utf8', () => {
      if (socket.destroyed) return;
      this.current = null;
      shared.connections.settle(socket, request, response.status);
      request.end();
      if (isLast) socket.destroySoon();
      else if (this.early !== null) this.handOver(this.early);
    });
  }

  private handOver(bytes: Buffer): void {
    const { socket, shared } = this;
    socket.off('data', this.onData).off('end', this.onEnd).off('timeout', this.onTimeout);
    socket.off('error', ignoreError).off('close', this.onClosed);
    shared.connections.leaveToNode(socket);
    shared.handOver(socket);
    socket.unshift(bytes);
    socket.resume();
  }

  private readonly onEnd = (): void => void this.socket.end();
  private readonly onTimeout = (): void => void this.socket.destroy();
  private readonly onClosed = (): void => this.current?.end();
}

const ignoreError = (): void => {};

/** A request that is answered without Node's HTTP server. */
class DirectRequest implements RequestConnection, PendingResponse {
  shouldKeepAlive: boolean;
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly connection = this;
  private readonly request: WholeRequest;
  private closeListeners: Set<() => void> | null = null;
  private hasEnded = false;

  constructor(
    private readonly socket: Socket,
    request: WholeRequest,
    readonly match: RouteMatch,
  ) {
    this.request = request;
    this.method = request.method;
    this.path = request.path;
    this.search = request.search;
    this.shouldKeepAlive = request.isKeptAlive;
  }

  get remoteAddress(): string | null {
    return this.socket.remoteAddress ?? null;
  }

  header(name: string): string | null {
    return this.request.headers.get(name) ?? null;
  }

  headers(): Headers {
    return new Headers([...this.request.headers]);
  }

  readBody(bytesMax: number, memory: Pick<BodyReservation, 'grow'>): Uint8Array | null {
    const { body } = this.request;
    return body.length <= bytesMax && memory.grow(body.length) ? body : null;
  }

  onClose(listener: () => void): () => void {
    const once = (): void => {
      if (this.closeListeners?.delete(once)) listener();
    };
    this.closeListeners ??= new Set();
    this.closeListeners.add(once);
    if (this.hasEnded || this.socket.destroyed) queueMicrotask(once);
    return () => void this.closeListeners?.delete(once);
  }

  /** Ends the request: its response has been sent, or its client is gone. */
  end(): void {
    this.hasEnded = true;
    for (const listener of [...(this.closeListeners ?? [])]) listener();
  }

  get destroy(): () => void {
    return () => void this.socket.destroy();
  }
}
