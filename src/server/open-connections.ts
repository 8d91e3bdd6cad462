import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { AddressLimit, type DropReason } from './connection-limits.js';
import type { ListenSettings } from './listen-settings.js';

const UNAUTHENTICATED_STATUS = 401;
/** How many requests of one connection may be in progress. A client that pipelines could hold many large responses. */
const PIPELINED_MAX = 4;

export const checkingIntervalMs = ({ headers_timeout_ms }: ListenSettings): number =>
  Math.min(5000, headers_timeout_ms);

/** A response in progress. `shouldKeepAlive` may be set to false until its head is written. */
export interface PendingResponse {
  shouldKeepAlive: boolean;
}

interface OpenConnection {
  readonly pending: Set<PendingResponse>;
  /** When the connection is closed if no complete request has arrived by then. */
  deadlineMs: number;
  /** Whether Node's HTTP server, which has its own timers, serves the connection. */
  isLeftToNode: boolean;
  /** Whether the last request was refused for its credential. */
  isRefused: boolean;
}

/**
 * Tracks open connections and pending requests, to close the idle ones at a stop. Node does not know them all: it counts a
 * connection as idle only after its first request.
 */
export class OpenConnections {
  private readonly open = new Map<Socket, OpenConnection>();
  private isStopping = false;
  private readonly addressLimit: AddressLimit;

  constructor(
    server: Server,
    private readonly settings: ListenSettings,
    private readonly onDropped: (reason: DropReason) => void,
  ) {
    this.addressLimit = new AddressLimit(settings.connections_per_address_max, settings.exempt_addresses);
    server.on('drop', () => onDropped('total_limit'));
    // A server that could not listen never emits 'close'.
    server.once('listening', () => {
      const idleTimer = setInterval(() => this.dropIdle(), checkingIntervalMs(settings)).unref();
      server.once('close', () => clearInterval(idleTimer));
    });
  }

  get size(): number {
    return this.open.size;
  }

  /** Registers a new connection. Returns false if it was closed, because of a limit or a stop. */
  admit(socket: Socket): boolean {
    // The connection was accepted just before the server stopped listening.
    if (this.isStopping) {
      socket.destroy();
      return false;
    }
    // The address of a peer that has already disconnected is undefined; such a connection is not counted.
    const releaseAddress =
      socket.remoteAddress === undefined ? () => {} : this.addressLimit.acquire(socket.remoteAddress);
    if (releaseAddress === null) {
      this.drop(socket, 'address_limit');
      return false;
    }
    const { first_byte_timeout_ms } = this.settings;
    this.open.set(socket, {
      pending: new Set(),
      deadlineMs: this.deadlineIn(first_byte_timeout_ms),
      isLeftToNode: false,
      isRefused: false,
    });
    // Every request in progress adds listeners. PIPELINED_MAX bounds them, so Node need not warn of a leak.
    socket.setMaxListeners(0);
    const firstByteTimer = setTimeout(() => {
      if (socket.bytesRead === 0) this.drop(socket, 'silent');
    }, first_byte_timeout_ms).unref();
    socket.once('close', () => {
      clearTimeout(firstByteTimer);
      releaseAddress();
      this.open.delete(socket);
    });
    return true;
  }

  /** Records that Node's HTTP server serves the connection from here on. */
  leaveToNode(socket: Socket): void {
    const connection = this.open.get(socket);
    if (connection === undefined) return;
    connection.isLeftToNode = true;
    const { linger_ms, keep_alive_ms } = this.settings;
    connection.deadlineMs = this.deadlineIn(connection.isRefused ? linger_ms : keep_alive_ms);
  }

  /**
   * Closes connections that are past their deadline. Node's own timers do not suffice: every byte restarts them, and they
   * ignore empty lines before a request.
   */
  private dropIdle(): void {
    const nowMs = performance.now();
    for (const [socket, { deadlineMs, pending, isLeftToNode }] of this.open) {
      if (deadlineMs >= nowMs || pending.size > 0) continue;
      // Node closes its idle connections itself, so one beyond its deadline has sent input without a complete request. An
      // idle connection that Node does not serve is closed here, and not counted as dropped either.
      if (isLeftToNode) this.drop(socket, 'silent');
      else socket.destroy();
    }
  }

  /**
   * A deadline that is later than Node's own timers: Node sends a response before it closes a connection with slow headers.
   */
  private deadlineIn(idleMs: number): number {
    const graceMs = this.settings.headers_timeout_ms + 2 * checkingIntervalMs(this.settings);
    return performance.now() + idleMs + graceMs;
  }

  private drop(socket: Socket, reason: DropReason): void {
    this.onDropped(reason);
    socket.destroy();
  }

  /** Whether the request may be answered. Tracks its response until it is settled. */
  admitRequest(socket: Socket, response: PendingResponse): boolean {
    // On a closed socket, Node would emit no 'close' for a response that is queued behind another: it would never settle.
    const connection = this.open.get(socket);
    if (socket.destroyed || connection === undefined) return false;
    connection.pending.add(response);
    if (connection.pending.size > PIPELINED_MAX) {
      this.drop(socket, 'pipelining');
      return false;
    }
    if (this.isStopping) response.shouldKeepAlive = false;
    if (connection.isRefused) {
      connection.isRefused = false;
      // Node's HTTP server sets its own timeout.
      if (!connection.isLeftToNode) socket.setTimeout(this.settings.request_timeout_ms);
    }
    return true;
  }

  /** Records that the response was sent, or its connection closed. */
  settle(socket: Socket, response: PendingResponse, status: number): void {
    const connection = this.open.get(socket);
    if (connection === undefined) return;
    const { linger_ms, keep_alive_ms } = this.settings;
    connection.pending.delete(response);
    connection.isRefused = status === UNAUTHENTICATED_STATUS;
    // A peer without a valid credential gets less time for its next request.
    if (connection.isRefused) socket.setTimeout(linger_ms);
    if (connection.pending.size > 0) return;
    const idleMs = connection.isRefused ? linger_ms : keep_alive_ms;
    connection.deadlineMs = connection.isLeftToNode ? this.deadlineIn(idleMs) : performance.now() + idleMs;
    if (this.isStopping) socket.destroySoon();
  }

  /** Closes connections without a pending request, now and from here on. The others close after their response. */
  closeIdle(): void {
    this.isStopping = true;
    for (const [socket, { pending }] of this.open) {
      if (pending.size === 0) socket.destroy();
      for (const response of pending) response.shouldKeepAlive = false;
    }
  }

  /** Closes all connections, also those with a request in progress. */
  closeAll(): void {
    for (const socket of this.open.keys()) socket.destroy();
  }
}
