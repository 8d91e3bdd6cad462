import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { DropReason } from './connection-limits.js';
import { DirectConnection } from './direct-connection.js';
import { DEFAULT_LISTEN_SETTINGS, type ListenSettings } from './listen-settings.js';
import { answerRequest } from './node-adapter.js';
import { checkingIntervalMs, OpenConnections } from './open-connections.js';
import { connectionsWithin } from './open-files-limit.js';
import { problemResponse } from './response.js';
import { ResponseTexts } from './response-text.js';
import type { App } from './route.js';

const HEADER_BYTES_MAX = 16 * 1024;
const BACKLOG = 4096;

export interface HttpListener {
  readonly port: number;
  readonly openConnectionCount: number;
  /** Stops accepting connections. Resolves when all requests are answered; after a time limit, closes what is still open. */
  stop(): Promise<void>;
}

export async function listen(
  app: Pick<App, 'match' | 'respond'>,
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
  const connections = new OpenConnections(server, settings, onDropped);
  serveDirectly(server, app, connections, settings);
  server.on('request', (incoming, outgoing) => {
    if (!connections.admitRequest(incoming.socket, outgoing)) return;
    outgoing.once('close', () => connections.settle(incoming.socket, outgoing, outgoing.statusCode));
    void answerRequest(app, incoming, outgoing);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, backlog: BACKLOG }, () => resolve());
  });
  return {
    port: (server.address() as AddressInfo).port,
    get openConnectionCount() {
      return connections.size;
    },
    stop: () => stopServer(server, connections, settings.stop_within_ms),
  };
}

/** Replaces Node's listener for new connections: `DirectConnection` serves them, and calls Node's listener to hand over. */
function serveDirectly(
  server: Server,
  app: Pick<App, 'match' | 'respond'>,
  connections: OpenConnections,
  { request_timeout_ms, keep_alive_ms }: ListenSettings,
): void {
  const serveByNode = server.listeners('connection');
  server.removeAllListeners('connection');
  const shared = {
    app,
    connections,
    texts: new ResponseTexts(keep_alive_ms),
    idleMs: request_timeout_ms,
    handOver: (socket: Socket): void => {
      for (const serve of serveByNode) serve.call(server, socket);
    },
  };
  server.on('connection', (socket: Socket) => {
    if (connections.admit(socket)) new DirectConnection(socket, shared);
  });
}

function stopServer(server: Server, connections: OpenConnections, withinMs: number): Promise<void> {
  return new Promise((resolve) => {
    const forceCloseTimer = setTimeout(() => connections.closeAll(), withinMs);
    server.close(() => {
      clearTimeout(forceCloseTimer);
      resolve();
    });
    connections.closeIdle();
  });
}

const CLIENT_ERRORS: Readonly<Record<string, () => ReturnType<typeof problemResponse>>> = {
  HPE_HEADER_OVERFLOW: () =>
    problemResponse(
      'HEADERS_TOO_LARGE',
      `The request headers exceed ${HEADER_BYTES_MAX} bytes. Send fewer or shorter headers.`,
    ),
  ERR_HTTP_REQUEST_TIMEOUT: () =>
    problemResponse(
      'TIMEOUT',
      'The request did not arrive within the time limit. Send it again without pauses.',
    ),
};

type ClientSocket = Socket & { _httpMessage?: IncomingMessage };

/**
 * Node calls this for input that is not HTTP or too slow: there is no request yet, only a socket. The handler sends the
 * reason, and gives the peer some time to read it and to close its side before it destroys the socket.
 */
function clientErrorHandler(
  lingerMs: number,
): (error: Error & { code?: string }, socket: ClientSocket) => void {
  const refusedSockets = new WeakSet<Socket>();
  return (error, socket) => {
    // Node calls this again for further input on the socket. The refusal is sent once.
    if (refusedSockets.has(socket)) return;
    refusedSockets.add(socket);
    rejectConnection(error, socket);
    const lingerTimer = setTimeout(() => socket.destroy(), lingerMs).unref();
    socket.once('close', () => clearTimeout(lingerTimer));
  };
}

function rejectConnection(error: Error & { code?: string }, socket: ClientSocket): void {
  if (error.code === 'ECONNRESET' || !socket.writable || socket._httpMessage != null) {
    socket.destroy();
    return;
  }
  const response =
    CLIENT_ERRORS[error.code ?? '']?.() ??
    problemResponse('INVALID_REQUEST', 'The input is not a valid HTTP request. Use an HTTP/1.1 client.');
  const headers = Object.entries({
    ...response.headers,
    connection: 'close',
    'content-length': String(Buffer.byteLength(response.body)),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${response.status} Refused\r\n${headers.join('')}\r\n${response.body}`);
}
