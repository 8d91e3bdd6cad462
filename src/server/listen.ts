import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { problemAnswer } from './answer.js';
import type { App } from './app.js';

export interface ListenSettings {
  /** A client must have said what it wants within this, and all of it within the next. */
  readonly headers_timeout_ms: number;
  readonly request_timeout_ms: number;
  readonly keep_alive_ms: number;
  readonly connections_max: number;
  /** How long a stop waits for what was accepted. */
  readonly stop_within_ms: number;
}
export const LISTEN_SETTINGS: ListenSettings = {
  headers_timeout_ms: 15_000,
  request_timeout_ms: 120_000,
  keep_alive_ms: 65_000,
  connections_max: 50_000,
  stop_within_ms: 15_000,
};
const HEADER_BYTES_MAX = 16 * 1024;
const BACKLOG = 4096;

export interface Listening {
  readonly port: number;
  /** Accepts nothing new, answers what was accepted, then resolves; cuts off what is left when the time is up. */
  stop(): Promise<void>;
}

export async function listen(
  app: App,
  { host, port }: { host: string; port: number },
  settings: ListenSettings = LISTEN_SETTINGS,
): Promise<Listening> {
  const server = createServer(
    {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: settings.headers_timeout_ms,
      requestTimeout: settings.request_timeout_ms,
      keepAliveTimeout: settings.keep_alive_ms,
      connectionsCheckingInterval: Math.min(5000, settings.headers_timeout_ms),
      noDelay: true,
    },
    getRequestListener(app.fetch, { errorHandler: () => unreadable(), overrideGlobalObjects: true }),
  );
  server.maxConnections = settings.connections_max;
  server.on('clientError', refuseClient);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, backlog: BACKLOG }, () => resolve());
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: () => stopped(server, settings.stop_within_ms),
  };
}

function stopped(server: Server, within_ms: number): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(() => server.closeAllConnections(), within_ms);
    server.close(() => {
      clearTimeout(late);
      resolve();
    });
    server.closeIdleConnections();
  });
}

/** A request whose target is no URL of ours. */
function unreadable(): Response {
  const { body, status, headers } = problemAnswer('INVALID_REQUEST', 'The target of the request is no path.');
  return new Response(body as string, { status, headers });
}

const CLIENT_ERRORS: Readonly<Record<string, () => ReturnType<typeof problemAnswer>>> = {
  HPE_HEADER_OVERFLOW: () =>
    problemAnswer('HEADERS_TOO_LARGE', `Headers have at most ${HEADER_BYTES_MAX} bytes.`),
  ERR_HTTP_REQUEST_TIMEOUT: () => problemAnswer('TIMEOUT', 'The request took too long to arrive.'),
};

/** Called by Node for what is not HTTP, or comes too slowly: there is no request yet, only a socket. */
function refuseClient(
  error: Error & { code?: string },
  socket: Socket & { _httpMessage?: IncomingMessage },
): void {
  if (error.code === 'ECONNRESET' || !socket.writable || socket._httpMessage != null) {
    socket.destroy();
    return;
  }
  const said = CLIENT_ERRORS[error.code ?? '']?.() ?? problemAnswer('INVALID_REQUEST', 'This is not HTTP.');
  const headers = Object.entries({
    ...said.headers,
    connection: 'close',
    'content-length': String(Buffer.byteLength(said.body)),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${said.status} Refused\r\n${headers.join('')}\r\n${said.body}`);
}
