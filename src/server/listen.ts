import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { App } from './app.js';
import { AddressLimit, type DropReason } from './connection-limits.js';
import { DEFAULT_LISTEN_SETTINGS, type ListenSettings } from './listen-settings.js';
import { problemResponse } from './response.js';

const HEADER_BYTES_MAX = 16 * 1024;
const BACKLOG = 4096;
const UNAUTHENTICATED = 401;

export interface HttpListener {
  readonly port: number;
  readonly open_connections: number;
  /** Stops accepting, answers the requests in progress, then resolves. Cuts off what remains at the time limit. */
  stop(): Promise<void>;
}

export async function listen(
  app: App,
  { host, port }: { host: string; port: number },
  settings: ListenSettings = DEFAULT_LISTEN_SETTINGS,
  onDropped: (reason: DropReason) => void = () => {},
): Promise<HttpListener> {
  const server = createServer(
    {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: settings.headers_timeout_ms,
      requestTimeout: settings.request_timeout_ms,
      keepAliveTimeout: settings.keep_alive_ms,
      connectionsCheckingInterval: Math.min(5000, settings.headers_timeout_ms),
      noDelay: true,
    },
    getRequestListener(app.fetch, {
      errorHandler: () => invalidTargetResponse(),
      overrideGlobalObjects: true,
    }),
  );
  server.maxConnections = settings.connections_max;
  server.timeout = settings.request_timeout_ms;
  server.on('clientError', clientErrorHandler(settings.linger_ms));
  const connections = new Connections(server, settings, onDropped);
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

/** Tracks open connections and pending requests. Node counts a connection as idle only after its first request. */
class Connections {
  private readonly sockets = new Set<Socket>();
  private readonly pendingRequests = new Map<Socket, number>();
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
    server.on('request', ({ socket }, response) => {
      this.pendingRequests.set(socket, (this.pendingRequests.get(socket) ?? 0) + 1);
      response.once('close', () => this.onResponseClosed(socket, response.statusCode));
    });
  }

  get size(): number {
    return this.sockets.size;
  }

  private admit(socket: Socket): void {
    // Undefined if the peer has already disconnected.
    const releaseAddress =
      socket.remoteAddress === undefined ? () => {} : this.addressLimit.acquire(socket.remoteAddress);
    if (releaseAddress === null) {
      this.drop(socket, 'address_limit');
      return;
    }
    this.sockets.add(socket);
    const firstByteTimer = setTimeout(() => {
      if (socket.bytesRead === 0) this.drop(socket, 'silent');
    }, this.settings.first_byte_timeout_ms).unref();
    socket.once('close', () => {
      clearTimeout(firstByteTimer);
      releaseAddress();
      this.sockets.delete(socket);
    });
  }

  private drop(socket: Socket, reason: DropReason): void {
    this.onDropped(reason);
    socket.destroy();
  }

  /** Closes connections without a pending request, now and from here on. */
  closeIdle(): void {
    this.isStopping = true;
    for (const socket of this.sockets) if (!this.pendingRequests.has(socket)) socket.destroy();
  }

  private onResponseClosed(socket: Socket, status: number): void {
    // A peer without a valid credential gets less time for its next
    // request; with that request, Node resets the timeout.
    if (status === UNAUTHENTICATED) socket.setTimeout(this.settings.linger_ms);
    const left = (this.pendingRequests.get(socket) ?? 1) - 1;
    if (left > 0) this.pendingRequests.set(socket, left);
    else {
      this.pendingRequests.delete(socket);
      if (this.isStopping) socket.destroySoon();
    }
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

/** Response to a request target that is not a valid URL path. */
function invalidTargetResponse(): Response {
  const { body, status, headers } = problemResponse(
    'INVALID_REQUEST',
    'The target of the request is no path.',
  );
  return new Response(body as string, { status, headers });
}

const CLIENT_ERRORS: Readonly<Record<string, () => ReturnType<typeof problemResponse>>> = {
  HPE_HEADER_OVERFLOW: () =>
    problemResponse('HEADERS_TOO_LARGE', `Headers have at most ${HEADER_BYTES_MAX} bytes.`),
  ERR_HTTP_REQUEST_TIMEOUT: () => problemResponse('TIMEOUT', 'The request took too long to arrive.'),
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
    CLIENT_ERRORS[error.code ?? '']?.() ?? problemResponse('INVALID_REQUEST', 'This is not HTTP.');
  const headers = Object.entries({
    ...response.headers,
    connection: 'close',
    'content-length': String(Buffer.byteLength(response.body)),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${response.status} Refused\r\n${headers.join('')}\r\n${response.body}`);
}
