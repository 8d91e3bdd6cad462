/**
 * Who: anyone who can open a TCP connection. They open many and send nothing, send half a header, get an error and keep
 * their side open, or close only their sending side.
 *
 * What they want: to exhaust the server's sockets, so that agents cannot connect and their leases expire.
 *
 * What stops them: the server closes every connection that is not in use, within seconds and whatever the peer does:
 * without a first byte after `first_byte_timeout_ms`, without a complete header after `headers_timeout_ms`, after a
 * refusal (also a 401 that no other request follows) within `linger_ms`, and without any traffic after
 * `request_timeout_ms`. Connections are limited in total and per remote address; loopback and named proxies are exempt
 * from the second limit. Every dropped connection is counted in the metrics.
 *
 * Not defended: many IPv4 addresses, or many IPv6 networks, can exhaust the total. That is for a firewall or a proxy.
 */

import diagnostics from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createApp } from '../../src/server/app.js';
import { OPEN_PRINCIPAL } from '../../src/server/auth/principal.js';
import { RateLimiter } from '../../src/server/auth/rate-limit.js';
import { BodyMemory } from '../../src/server/body-memory.js';
import { listen } from '../../src/server/listen.js';
import { DEFAULT_LISTEN_SETTINGS, type ListenSettings } from '../../src/server/listen-settings.js';
import { problemResponse } from '../../src/server/response.js';
import type { Route, ServerContext } from '../../src/server/route.js';
import { LASTING_CREDENTIALS } from '../../src/server/testing/credentials.js';
import { TestServer } from '../../src/server/testing/test-server.js';

/** A route that takes a small body and responds with a large one. */
const ECHO: Route = {
  id: 'echo',
  method: 'POST',
  path: '/echo',
  action: 'public',
  summary: 'Echo',
  body: { kind: 'json', schema: z.unknown(), bytes_max: 10 },
  reply: z.object({}),
  run: async () => ({ status: 200, headers: {}, body: 'x'.repeat(32 * 1024 * 1024) }),
};

/** A route that refuses every credential. */
const PROTECTED_ROUTE: Route = {
  id: 'guarded',
  method: 'GET',
  path: '/guarded',
  action: 'public',
  summary: 'Guarded',
  reply: z.object({}),
  run: async () => problemResponse('UNAUTHENTICATED', 'This credential is not valid.'),
};

/** Longer than any test takes: each test shortens only the timeout that it is about. */
const NEVER_MS = 3600_000;
const PATIENT = {
  first_byte_timeout_ms: NEVER_MS,
  headers_timeout_ms: NEVER_MS,
  request_timeout_ms: NEVER_MS,
  keep_alive_ms: NEVER_MS,
  linger_ms: NEVER_MS,
};

/** A server, with every socket that it accepts. */
async function startListening(settings: Partial<ListenSettings>) {
  const app = createApp({
    context: { stopping: new AbortController().signal, bodyMemory: new BodyMemory() } as ServerContext,
    routes: [ECHO, PROTECTED_ROUTE],
    authenticator: { isInOpenMode: true, authenticate: async () => OPEN_PRINCIPAL, ...LASTING_CREDENTIALS },
    rateLimiter: new RateLimiter(),
    accessLog: null,
    errorLog: () => {},
  });
  const dropped: string[] = [];
  const all: ListenSettings = { ...DEFAULT_LISTEN_SETTINGS, ...PATIENT, ...settings };
  const listening = await listen(app, { host: '127.0.0.1', port: 0 }, all, (reason) => dropped.push(reason));
  onTestFinished(() => listening.stop());
  return { listening, dropped, ...trackAccepted(listening.port) };
}

/** The server's side of each connection, in the order of acceptance. */
function trackAccepted(port: number) {
  const sockets: Socket[] = [];
  const ends = new Map<Socket, Promise<unknown>>();
  let wake = (): void => {};
  const onSocket = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    if (socket.localPort !== port) return;
    sockets.push(socket);
    ends.set(
      socket,
      once(socket, 'close').catch(() => null),
    );
    wake();
  };
  diagnostics.subscribe('net.server.socket', onSocket);
  onTestFinished(() => void diagnostics.unsubscribe('net.server.socket', onSocket));
  /** Resolves when the server has closed its end of the n-th connection. */
  const closed = async (index: number): Promise<void> => {
    while (sockets.length <= index) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    await ends.get(sockets[index] as Socket);
  };
  return { closed };
}

/** A peer that never closes its side by itself. */
function openStubbornPeer(port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** Everything the peer received. Unlike `text` of node:stream/consumers, this leaves the peer's side open. */
async function receivedBy(socket: Socket): Promise<string> {
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk;
  });
  await new Promise((resolve) => socket.once('end', resolve).once('close', resolve));
  return received;
}

const REQUEST = 'POST /echo HTTP/1.1\r\nHost: 127.0.0.1\r\n';

test('closes a connection that never sends a byte, and counts it', async () => {
  const { listening, closed, dropped } = await startListening({ first_byte_timeout_ms: 20 });
  openStubbornPeer(listening.port);
  await closed(0);
  expect(dropped).toEqual(['silent']);
});

test.each([
  ['does not speak HTTP', 'hello\r\n\r\n', /^HTTP\/1\.1 400 /],
  ['sends a header that is too long', `${REQUEST}X-Long: ${'x'.repeat(20_000)}\r\n\r\n`, /^HTTP\/1\.1 431 /],
  ['requests an invalid path', 'GET nothing HTTP/1.1\r\nHost: x\r\n\r\n', /^HTTP\/1\.1 400 /],
  [
    'sends a body that is too large',
    `${REQUEST}Content-Length: 20\r\nContent-Type: application/json\r\n\r\n${'1'.repeat(20)}`,
    /^HTTP\/1\.1 413 /,
  ],
])('closes a connection that %s, although the peer keeps its side open', async (_, sent, answer) => {
  const { listening, closed } = await startListening({ linger_ms: 20 });
  const socket = openStubbornPeer(listening.port);
  const reply = receivedBy(socket);
  socket.write(sent);
  await closed(0);
  expect(await reply).toMatch(answer);
});

test('closes an idle connection after a refused credential earlier than other idle connections', async () => {
  const { listening, closed } = await startListening({ linger_ms: 20 });
  const socket = openStubbornPeer(listening.port);
  const reply = receivedBy(socket);
  socket.write('GET /guarded HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  await closed(0);
  expect(await reply).toMatch(/^HTTP\/1\.1 401 /);
});

test('keeps a connection that sends another request after a refused one', async () => {
  const { listening, closed } = await startListening({ linger_ms: 20 });
  const requestFor = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
  const [socket, other] = [openStubbornPeer(listening.port), openStubbornPeer(listening.port)];
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk;
  });
  const waitForAnswers = async (count: number): Promise<void> => {
    while (received.split('HTTP/1.1 ').length <= count) await once(socket, 'data');
  };
  socket.write(requestFor('/guarded') + requestFor('/nothing'));
  await waitForAnswers(2);
  // By the time this one is closed, the first would be closed too.
  other.write(requestFor('/guarded'));
  await closed(1);
  socket.write(requestFor('/nothing'));
  await waitForAnswers(3);
  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 401', 'HTTP/1.1 404', 'HTTP/1.1 404']);
});

test('closes a connection that sends half a header, although the peer keeps its side open', async () => {
  const { listening, closed } = await startListening({ headers_timeout_ms: 20, linger_ms: 20 });
  const socket = openStubbornPeer(listening.port);
  const reply = receivedBy(socket);
  socket.write(`${REQUEST}Content-Le`);
  await closed(0);
  expect(await reply).toMatch(/^HTTP\/1\.1 408 /);
});

test('closes a connection that sends only empty lines after a request, which restart the timers of Node', async () => {
  const { listening, closed, dropped } = await startListening({
    headers_timeout_ms: 500,
    keep_alive_ms: 500,
  });
  const socket = openStubbornPeer(listening.port);
  // Node answers it, because there is no such route.
  socket.write('GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  const sending = setInterval(() => socket.write('\r\n'), 10);
  onTestFinished(() => clearInterval(sending));
  await closed(0);
  expect(dropped).toEqual(['silent']);
});

test('closes a connection that sends only empty lines after a request that was answered directly', async () => {
  const { listening, closed } = await startListening({ headers_timeout_ms: 50, linger_ms: 50 });
  const socket = openStubbornPeer(listening.port);
  socket.write('GET /guarded HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  await once(socket, 'data');
  const sending = setInterval(() => socket.write('\r\n'), 10);
  onTestFinished(() => clearInterval(sending));
  await closed(0);
});

test('closes an idle connection whose request was answered directly, and does not count it as dropped', async () => {
  const { listening, closed, dropped } = await startListening({ headers_timeout_ms: 20, keep_alive_ms: 20 });
  const socket = openStubbornPeer(listening.port);
  socket.write(`${REQUEST}Content-Length: 1\r\n\r\nx`);
  socket.resume();
  await closed(0);
  expect(dropped).toEqual([]);
});

test.each([
  ['before it has sent anything', ''],
  ['in the middle of a header', `${REQUEST}Content-Le`],
  ['in the middle of a body', `${REQUEST}Content-Length: 5\r\n\r\n1`],
])('closes a connection whose peer closes its sending side %s', async (_, sent) => {
  const { listening, closed } = await startListening({});
  openStubbornPeer(listening.port).end(sent);
  await closed(0);
});

test('closes a connection whose peer does not finish its body', async () => {
  const { listening, closed } = await startListening({ headers_timeout_ms: 20, request_timeout_ms: 20 });
  openStubbornPeer(listening.port).write(`${REQUEST}Content-Length: 5\r\n\r\n1`);
  await closed(0);
});

test.each([
  ['directly', ''],
  // There is no such route, so Node answers, and serves the connection from here on.
  ['by Node', 'GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'],
])('closes a connection whose peer does not read a response that is sent %s', async (_, first) => {
  const { listening, closed } = await startListening({ headers_timeout_ms: 200, request_timeout_ms: 200 });
  const socket = openStubbornPeer(listening.port);
  socket.write(first);
  if (first !== '') await once(socket, 'data');
  socket.pause();
  socket.write(`${REQUEST}Content-Length: 1\r\n\r\n1`);
  await closed(0);
});

test('drops connections over the total limit, counts them, and serves new ones once others are closed', async () => {
  const { listening, dropped } = await startListening({ connections_max: 2 });
  const openSockets = [openStubbornPeer(listening.port), openStubbornPeer(listening.port)];
  await Promise.all(openSockets.map((socket) => once(socket, 'connect')));
  const third = openStubbornPeer(listening.port).resume();
  await once(third, 'end');
  expect(dropped).toEqual(['total_limit']);
  openSockets[0]?.destroy();
  await waitForAnswer(listening.port);
});

test('drops connections over the limit per address, and counts them', async () => {
  const { listening, dropped } = await startListening({
    connections_per_address_max: 2,
    exempt_addresses: [],
  });
  const openSockets = [openStubbornPeer(listening.port), openStubbornPeer(listening.port)];
  await Promise.all(openSockets.map((socket) => once(socket, 'connect')));
  const third = openStubbornPeer(listening.port).resume();
  await once(third, 'end');
  expect(dropped).toEqual(['address_limit']);
  for (const socket of openSockets) socket.destroy();
  await waitForAnswer(listening.port);
});

test.each([
  ['loopback', {}],
  ['a named proxy', { exempt_addresses: ['127.0.0.0/8'] }],
])('does not limit the connections of %s', async (_, exempt) => {
  const { listening, dropped } = await startListening({ connections_per_address_max: 1, ...exempt });
  await Promise.all([
    waitForAnswer(listening.port),
    waitForAnswer(listening.port),
    waitForAnswer(listening.port),
  ]);
  expect(dropped).toEqual([]);
});

test('reports the numbers of open and dropped connections in the metrics', async () => {
  const testServer = await TestServer.forTest({ listen: { first_byte_timeout_ms: 20 } });
  const silent = connect(testServer.running.port, '127.0.0.1').resume();
  await once(silent, 'close');
  const { body } = await testServer.get('/metrics');
  expect(body).toMatch(/^coditect_connections_dropped_total\{reason="silent"\} 1$/m);
  expect(body).toMatch(/^coditect_connections_dropped_total\{reason="address_limit"\} 0$/m);
  expect(body).toMatch(/^coditect_open_connections [1-9]/m);
});

/**
 * Retries until there is a response: a closed connection frees its share of the limit a moment later. A request on a
 * connection that is dropped at once may never settle.
 */
async function waitForAnswer(port: number): Promise<void> {
  for (;;) {
    const signal = AbortSignal.timeout(500);
    const reply = await fetch(`http://127.0.0.1:${port}/nothing`, { signal }).catch(() => null);
    if (reply?.status === 404) return;
  }
}
