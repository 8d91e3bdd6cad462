import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createApp } from './app.js';
import { OPEN_PRINCIPAL } from './auth/principal.js';
import { RateLimiter } from './auth/rate-limit.js';
import { BodyMemory } from './body-memory.js';
import { listen } from './listen.js';
import { problemResponse, toResponse } from './response.js';
import type { ApiCall, Route, ServerContext } from './route.js';
import { LASTING_CREDENTIALS } from './testing/credentials.js';

/** What the routes were called with, in order. */
const calls: ApiCall[] = [];

const route = (id: string, run: Route['run'], overrides: Partial<Route> = {}): Route => ({
  id,
  method: 'POST',
  path: `/${id}/{name}`,
  action: 'public',
  summary: id,
  body: { kind: 'json', schema: z.unknown(), bytes_max: 2000 },
  reply: z.object({}),
  ...overrides,
  run: (call) => {
    calls.push(call);
    return run(call);
  },
});

const echoOf = ({ params, body, request, connection }: ApiCall): object => ({
  params,
  body: body ?? null,
  search: request.search,
  headers: Object.fromEntries(connection.headers()),
});

let release = (): void => {};
const ROUTES = [
  route('echo', async (call) => toResponse(echoOf(call))),
  route('read', async (call) => toResponse(echoOf(call)), { method: 'GET' }),
  route('refused', async () => toResponse({ success: false, reason: 'NOTHING_READY' })),
  route('unknown', async () => problemResponse('UNAUTHENTICATED', 'Not valid: ü.')),
  route('throws', () => Promise.reject(new Error('broken'))),
  route('waits', (call) => {
    call.connection.onClose(() => release());
    return new Promise(() => {});
  }),
];

async function startListening(): Promise<number> {
  const app = createApp({
    context: { stopping: new AbortController().signal, bodyMemory: new BodyMemory() } as ServerContext,
    routes: ROUTES,
    authenticator: { isInOpenMode: true, authenticate: async () => OPEN_PRINCIPAL, ...LASTING_CREDENTIALS },
    rateLimiter: new RateLimiter(),
    accessLog: null,
    errorLog: () => {},
  });
  const listening = await listen(app, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => listening.stop());
  return listening.port;
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** Reads until one response is complete, or the server closes the connection. */
async function responseOn(socket: Socket): Promise<string> {
  let text = '';
  for (;;) {
    const chunk = await Promise.race([
      once(socket, 'data').then(([bytes]) => String(bytes)),
      once(socket, 'end').then(() => null),
      once(socket, 'close').then(() => null),
    ]);
    if (chunk === null) return text;
    text += chunk;
    const [head = '', body] = text.split('\r\n\r\n', 2);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (body !== undefined && Buffer.byteLength(body) >= length) return text;
  }
}

const withoutDateAndIds = (text: string): string =>
  text
    .replace(/Date: \w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT/, 'Date: now')
    .replace(/\([\w-]{36}\)|[\w-]{36}\./, 'id');

/** Sends the request whole, so that it is answered directly, and in two parts, so that Node's server answers it. */
async function directAndNodeAnswers(request: string) {
  const port = await startListening();
  const [whole, split] = [await open(port), await open(port)];
  whole.write(request);
  const direct = await responseOn(whole);
  split.write(request.slice(0, -1));
  // When the server has answered a later connection, it has read the first part.
  const other = await open(port);
  other.write('GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  await responseOn(other);
  split.write(request.slice(-1));
  const byNode = await responseOn(split);
  return { direct: withoutDateAndIds(direct), byNode: withoutDateAndIds(byNode) };
}

const post = (path: string, body: string, headers = 'Host: 127.0.0.1\r\n'): string =>
  `POST ${path} HTTP/1.1\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

test.each([
  ['a command', post('/echo/x', '{"a":[1,"ü"]}')],
  ['a command with a query', post('/echo/a%20b?q=1&r=%2F', '1')],
  ['headers with spaces and capitals', post('/echo/x', '1', 'HOST:127.0.0.1\r\nX-A:  b c \r\nx-empty:\r\n')],
  ['a read', 'GET /read/x?at=1 HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: x\r\n\r\n'],
  ['a refusal', post('/refused/x', '{}')],
  ['a refused credential', post('/unknown/x', '{}')],
  ['a body that is not JSON', post('/echo/x', '{')],
  ['a body that is too large', post('/echo/x', `"${'x'.repeat(2000)}"`)],
  ['an empty body', post('/echo/x', '')],
  ['an internal error', post('/throws/x', '{}')],
  ['the last request of a connection', post('/echo/x', '1', 'Host: 127.0.0.1\r\nConnection: close\r\n')],
  ['a page of another site', post('/echo/x', '1', 'Host: 127.0.0.1\r\nOrigin: http://example.com\r\n')],
  ['a host that is not this machine', post('/echo/x', '1', 'Host: example.com\r\n')],
])('answers %s directly as Node does, byte for byte', async (_, request) => {
  const { direct, byNode } = await directAndNodeAnswers(request);
  expect(direct).toMatch(/^HTTP\/1\.1 \d{3} /);
  expect(direct).toBe(byNode);
});

test('answers one request after another on a connection, also after Node has taken over the connection', async () => {
  const socket = await open(await startListening());
  for (const body of ['1', '"ü"', `"${'x'.repeat(1900)}"`]) {
    socket.write(post('/echo/x', body));
    expect(await responseOn(socket)).toContain(body);
  }
  // Two at once: Node answers them.
  socket.write(post('/echo/x', '4') + post('/echo/x', '5'));
  let both = '';
  while (!both.includes('"body":5')) both += await responseOn(socket);
  expect(both.indexOf('"body":4')).toBeLessThan(both.indexOf('"body":5'));
  socket.write(post('/echo/x', '6'));
  expect(await responseOn(socket)).toContain('"body":6');
});

test('answers a request that arrives before the previous request is answered', async () => {
  calls.length = 0;
  let answer = (): void => {};
  const released = new Promise<void>((resolve) => {
    answer = resolve;
  });
  ROUTES[0] = route('echo', async (call) => {
    if (call.body === 1) await released;
    return toResponse(echoOf(call));
  });
  const port = await startListening();
  const socket = await open(port);
  socket.write(post('/echo/x', '1'));
  await expect.poll(() => calls.length).toBe(1);
  socket.write(post('/echo/x', '2').slice(0, 30));
  socket.write(post('/echo/x', '2').slice(30));
  answer();
  let both = '';
  while (!both.includes('"body":2')) both += await responseOn(socket);
  expect(both.match(/"body":\d/g)).toEqual(['"body":1', '"body":2']);
});

test('ends a waiting request when its client disconnects', async () => {
  const port = await startListening();
  const socket = await open(port);
  calls.length = 0;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  socket.write(post('/waits/x', '{}'));
  await expect.poll(() => calls.length).toBe(1);
  socket.end();
  await released;
});
