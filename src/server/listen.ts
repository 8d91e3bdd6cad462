import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { AddressLimit, type DropReason } from './connection-limits.js';
import { DEFAULT_LISTEN_SETTINGS, type ListenSettings } from './listen-settings.js';
import { answerRequest } from './node-adapter.js';
import { connectionsWithin } from './open-files-limit.js';
import { problemResponse } from './response.js';
import type { App } from './route.js';

const HEADER_BYTES_MAX = 16 * 1024;
const BACKLOG = 4096;
const UNAUTHENTICATED = 401;
/** Requests of one connection in progress. Clients do not pipeline; one that does could hold many large responses. */
const PIPELINED_MAX = 4;

export interface HttpListener {
  readonly port: number;
  readonly open_connections: number;
  /** Stops accepting, answers the requests in progress, then resolves. Cuts off what remains at the time limit. */
  stop(): Promise<void>;
}

export async function listen(
  app: Pick<App, 'respond'>,
  { host, port }: { host: string; port: number },
  settings: ListenSettings = DEFAULT_LISTEN_SETTINGS,
  onDropped: (reason: DropReason) => void = () => {},
): Promise<HttpListener> {
  const server = createServer({
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: settings.headers_timeout_ms,
    requestTimeout: settings.request_timeout_ms,
    keepAliveTimeout: settings.keep_alive_ms,
    connectionsCheckingInterval: checkingIntervalMs(settings),
    noDelay: true,
  });
  server.maxConnections = connectionsWithin(settings.connections_max);
  server.timeout = settings.request_timeout_ms;
  server.on('clientError', clientErrorHandler(settings.linger_ms));
  const connections = new Connections(server, settings, onDropped);
  server.on('request', (incoming, outgoing) => {
    if (connections.admitRequest(incoming.socket, outgoing)) void answerRequest(app, incoming, outgoing);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, backlog: BACKLOG }, () => resolve());
  });
  return {
    port: (server.address() as AddressInfo).port,
    get open_connections() {
      return connections.size;
    },
    stop: () => stopServer(server, connections, settings.stop_within_ms),
  };
}

const checkingIntervalMs = ({ headers_timeout_ms }: ListenSettings): number =>
  Math.min(5000, headers_timeout_ms);

interface OpenConnection {
  readonly pending: Set<ServerResponse>;
  /** When it is dropped unless a complete request has arrived. */
  deadlineMs: number;
}

/** Tracks open connections and pending requests. Node counts a connection as idle only after its first request. */
class Connections {
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
    server.on('connection', (socket: Socket) => this.admit(socket));
    // A server that could not listen never emits 'close'.
    server.once('listening', () => {
      const idleTimer = setInterval(() => this.dropIdle(), checkingIntervalMs(settings)).unref();
      server.once('close', () => clearInterval(idleTimer));
    });
  }

  get size(): number {
    return this.open.size;
  }

  private admit(socket: Socket): void {
    // Accepted just before the server stopped listening.
    if (this.isStopping) return void socket.destroy();
    // Undefined if the peer has already disconnected.
    const releaseAddress =
      socket.remoteAddress === undefined ? () => {} : this.addressLimit.acquire(socket.remoteAddress);
    if (releaseAddress === null) {
      this.drop(socket, 'address_limit');
      return;
    }
    const { first_byte_timeout_ms } = this.settings;
    this.open.set(socket, { deadlineMs: this.deadlineIn(first_byte_timeout_ms), pending: new Set() });
    // Every request in progress listens to it, and PIPELINED_MAX bounds them; Node warns of a leak from eleven on.
    socket.setMaxListeners(0);
    const firstByteTimer = setTimeout(() => {
      if (socket.bytesRead === 0) this.drop(socket, 'silent');
    }, first_byte_timeout_ms).unref();
    socket.once('close', () => {
      clearTimeout(firstByteTimer);
      releaseAddress();
      this.open.delete(socket);
    });
  }

  /** Node's own timers start again with every byte, and do not count the empty lines before a request at all. */
  private dropIdle(): void {
    const nowMs = performance.now();
    for (const [socket, { deadlineMs, pending }] of this.open) {
      if (deadlineMs < nowMs && pending.size === 0) this.drop(socket, 'silent');
    }
  }

  /** Node comes first where it can: it answers a slow header before it closes. */
  private deadlineIn(idleMs: number): number {
    const graceMs = this.settings.headers_timeout_ms + 2 * checkingIntervalMs(this.settings);
    return performance.now() + idleMs + graceMs;
  }

  private drop(socket: Socket, reason: DropReason): void {
    this.onDropped(reason);
    socket.destroy();
  }

  /** Whether the request may be answered. Tracks its response until it is closed. */
  admitRequest(socket: Socket, response: ServerResponse): boolean {
    // Node emits no 'close' on a response that is queued behind another when the socket closes.
    const connection = this.open.get(socket);
    if (socket.destroyed || connection === undefined) return false;
    connection.pending.add(response);
    if (connection.pending.size > PIPELINED_MAX) {
      this.drop(socket, 'pipelining');
      return false;
    }
    if (this.isStopping) response.shouldKeepAlive = false;
    response.once('close', () => {
      connection.pending.delete(response);
      this.onResponseClosed(socket, connection, response.statusCode);
    });
    return true;
  }

  /** Closes connections without a pending request, now and from here on. The others close with their response. */
  closeIdle(): void {
    this.isStopping = true;
    for (const [socket, { pending }] of this.open) {
      if (pending.size === 0) socket.destroy();
      for (const response of pending) response.shouldKeepAlive = false;
    }
  }

  private onResponseClosed(socket: Socket, connection: OpenConnection, status: number): void {
    // A peer without a valid credential gets less time for its next
    // request; with that request, Node resets the timeout.
    const { linger_ms, keep_alive_ms } = this.settings;
    if (status === UNAUTHENTICATED) socket.setTimeout(linger_ms);
    if (connection.pending.size > 0) return;
    connection.deadlineMs = this.deadlineIn(status === UNAUTHENTICATED ? linger_ms : keep_alive_ms);
    if (this.isStopping) socket.destroySoon();
  }
}

function stopServer(server: Server, connections: Connections, withinMs: number): Promise<void> {
  return new Promise((resolve) => {
    const forceCloseTimer = setTimeout(() => server.closeAllConnections(), withinMs);
    server.close(() => {
      clearTimeout(forceCloseTimer);
      resolve();
    });
    connections.closeIdle();
  });
}

const CLIENT_ERRORS: Readonly<Record<string, () => ReturnType<typeof problemResponse>>> = {
  HPE_HEADER_OVERFLOW: () =>
    problemResponse('HEADERS_TOO_LARGE', `The request headers exceed ${HEADER_BYTES_MAX} bytes.`),
  ERR_HTTP_REQUEST_TIMEOUT: () => problemResponse('TIMEOUT', 'The request timed out. Try again.'),
};

type ClientSocket = Socket & { _httpMessage?: IncomingMessage };

/**
 * Node calls this for input that is not HTTP or too slow: there is no request yet, only a socket. It sends the reason
 * and closes after a delay, by which time the peer has read it or will not close its side.
 */
function clientErrorHandler(
  lingerMs: number,
): (error: Error & { code?: string }, socket: ClientSocket) => void {
  const refused = new WeakSet<Socket>();
  return (error, socket) => {
    // Further input on this socket is not HTTP either.
    if (refused.has(socket)) return;
    refused.add(socket);
    rejectConnection(error, socket);
    const linger = setTimeout(() => socket.destroy(), lingerMs).unref();
    socket.once('close', () => clearTimeout(linger));
  };
}

function rejectConnection(error: Error & { code?: string }, socket: ClientSocket): void {
  if (error.code === 'ECONNRESET' || !socket.writable || socket._httpMessage != null) {
    socket.destroy();
    return;
  }
  const response =
    CLIENT_ERRORS[error.code ?? '']?.() ?? problemResponse('INVALID_REQUEST', 'Not a valid HTTP request.');
  const headers = Object.entries({
    ...response.headers,
    connection: 'close',
    'content-length': String(Buffer.byteLength(response.body)),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${response.status} Refused\r\n${headers.join('')}\r\n${response.body}`);
}
