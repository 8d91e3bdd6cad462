import { execFileSync, spawn } from 'node:child_process';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createApp } from './app.js';
import { RateLimiter } from './auth/rate-limit.js';
import { BodyMemory } from './body-memory.js';
import { listen } from './listen.js';
import { DEFAULT_LISTEN_SETTINGS } from './listen-settings.js';
import { COMMAND_BODY_BYTES_MAX } from './middleware/body.js';
import type { ServerContext } from './route.js';
import { ROUTES } from './routes.js';
import { startServer } from './server.js';
import { openStoreUrl } from './store-url.js';
import { LASTING_CREDENTIALS } from './testing/credentials.js';
import { PROJECT_URL, TestServer } from './testing/test-server.js';

let testServer: TestServer;
const logged: Record<string, unknown>[] = [];
beforeAll(async () => {
  testServer = await TestServer.start({ log: (line) => logged.push(line) });
  await testServer.putPlan('A-001-x');
});
afterAll(async () => {
  expect((await testServer.get(`${PROJECT_URL}/tasks/A-001-x`)).status).toBe(200);
  expect(logged.filter(({ level }) => level === 'error')).toEqual([]);
  await testServer.remove();
});

const statusAndCode = async (reply: Promise<{ status: number; body: { code?: string } }>) => {
  const { status, body } = await reply;
  return [status, body.code];
};
const sendGet = (target: string, headerLines = '') =>
  testServer.sendRaw(`GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n${headerLines}\r\n`);

describe('a body that', () => {
  test.each([
    ['is empty', ''],
    ['is not JSON', '{"task_id": '],
    ['is not text', Buffer.from([0x22, 0xff, 0xfe, 0x22])],
    ['is a list', '[]'],
    ['is null', 'null'],
    ['is nested too deeply and not closed', '['.repeat(500_000)],
    ['is nested too deeply', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    ['has a prototype key', '{"__proto__": {"task_id": "A-001-x"}, "agent_id": "a", "session_id": "s"}'],
    ['has wrong types', '{"task_id": 7, "agent_id": {}, "session_id": []}'],
    ['has unknown fields', '{"task_id": "A-001-x", "agent_id": "a", "session_id": "s", "admin": true}'],
    ['looks like an internal problem', '{"problem": "UNKNOWN", "detail": "x"}'],
  ])('%s is refused as malformed', async (_, body) => {
    expect(await statusAndCode(testServer.request('POST', `${PROJECT_URL}/claims`, body))).toEqual([
      400,
      'INVALID_REQUEST',
    ]);
  });

  test('exceeds the limit of a command is refused, with or without a Content-Length', async () => {
    const large = JSON.stringify({ task_id: 'x'.repeat(COMMAND_BODY_BYTES_MAX) });
    expect(await statusAndCode(testServer.request('POST', `${PROJECT_URL}/claims`, large))).toEqual([
      413,
      'BODY_TOO_LARGE',
    ]);
    const head = `POST ${PROJECT_URL}/claims HTTP/1.1\r\nHost: 127.0.0.1\r\n`;
    const declared = await testServer.sendRaw(`${head}Content-Length: 99999999999\r\n\r\n`);
    expect(declared).toMatch(/^HTTP\/1\.1 413 .*BODY_TOO_LARGE/s);
    const chunk = `${COMMAND_BODY_BYTES_MAX.toString(16)}\r\n${'x'.repeat(COMMAND_BODY_BYTES_MAX)}\r\n`;
    const chunked = await testServer.sendRaw(`${head}Transfer-Encoding: chunked\r\n\r\n${chunk}${chunk}`);
    expect(chunked).toMatch(/^HTTP\/1\.1 413 .*BODY_TOO_LARGE/s);
  });

  test('is a large plan is accepted up to the limit of plans', async () => {
    const largeTask = (at: number) => ({
      id: `L-${String(at).padStart(3, '0')}-x`,
      description: 'large',
      instructions: 'x'.repeat(3000),
      depends_on: [],
    });
    const tracks = { L: Array.from({ length: 500 }, (_, index) => largeTask(index + 1)) };
    const reply = await testServer.request('PUT', '/api/tenants/acme/projects/large/plan', { tracks });
    expect([reply.status, reply.body.added]).toEqual([200, 500]);
    const giant = '#'.repeat(6 * 1024 * 1024);
    expect((await testServer.request('PUT', `${PROJECT_URL}/plan`, giant)).status).toBe(413);
  });
});

describe('a path that', () => {
  test.each([
    '/../../etc/passwd',
    '/api/tenants/../../../etc/passwd',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/..%2f..%2fetc',
  ])('traverses upwards, %s, is not found', async (target) => {
    expect(await sendGet(target)).toMatch(/^HTTP\/1\.1 404 .*"code":"NOT_FOUND"/s);
  });

  test.each([
    '..',
    '%2e%2e',
    '..%2f..',
    '..%2F..%2F..%2Fetc%2Fpasswd',
    '.',
    '%00',
    'a%00b',
    '~plan',
    '_tenant',
    '__proto__',
  ])('has %s as a name is refused before it reaches a store', async (name) => {
    for (const target of [`/api/tenants/${name}/limits`, `/api/tenants/acme/projects/${name}/status`]) {
      expect(await sendGet(target)).toMatch(/^HTTP\/1\.1 40[04] .*"code":"(INVALID_REQUEST|NOT_FOUND)"/s);
    }
    for (const path of [`tasks/${name}`, `tasks/${name}/history`, `blobs/${name}`]) {
      expect(await sendGet(`${PROJECT_URL}/${path}`)).toMatch(/^HTTP\/1\.1 40[04] /);
    }
  });

  test.each(['events?agent_id=a%00b', 'tasks?track=%00'])(
    'has a NUL in its query, %s, is refused before it reaches a store',
    async (path) => {
      expect(await sendGet(`${PROJECT_URL}/${path}`)).toMatch(/^HTTP\/1\.1 400 .*INVALID_REQUEST/s);
    },
  );

  test('is encoded twice is decoded once', async () => {
    expect(await statusAndCode(testServer.get(`${PROJECT_URL}/tasks/A-001-x`))).toEqual([200, undefined]);
    expect(await statusAndCode(testServer.get(`${PROJECT_URL}/tasks/A-001%2Dx`))).toEqual([200, undefined]);
    expect(await statusAndCode(testServer.get(`${PROJECT_URL}/tasks/A-001%252Dx`))).toEqual([
      400,
      'INVALID_REQUEST',
    ]);
  });

  test.each(['%', '%zz', '%c3%28', 'a%e2'])('has invalid percent-encoding, %s, is refused', async (name) => {
    expect(await sendGet(`${PROJECT_URL}/tasks/${name}`)).toMatch(/^HTTP\/1\.1 400 .*INVALID_REQUEST/s);
    expect(await sendGet(`/nowhere/${name}`)).toMatch(/^HTTP\/1\.1 400 .*INVALID_REQUEST/s);
  });

  test('does not exist gets 404, and one that supports other methods gets 405', async () => {
    expect(await statusAndCode(testServer.get('/api'))).toEqual([404, 'NOT_FOUND']);
    expect(await statusAndCode(testServer.get(`${PROJECT_URL}/status/`))).toEqual([404, 'NOT_FOUND']);
    const wrongMethod = await testServer.request('DELETE', `${PROJECT_URL}/plan`);
    expect([wrongMethod.status, wrongMethod.headers.get('allow')]).toEqual([405, 'GET, PUT']);
    expect((await testServer.request('PATCH', `${PROJECT_URL}/tasks/A-001-x`)).headers.get('allow')).toBe(
      'GET',
    );
    expect((await testServer.request('OPTIONS', `${PROJECT_URL}/claims`)).status).toBe(405);
  });
});

describe('a client that', () => {
  test('sends invalid HTTP or too large headers gets an error', async () => {
    expect(await testServer.sendRaw('hello\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 .*INVALID_REQUEST/s);
    expect(await sendGet('/healthz', `X-Long: ${'x'.repeat(20_000)}\r\n`)).toMatch(/^HTTP\/1\.1 431 /);
    expect(await testServer.sendRaw('GET /healthz HTTP/1.1\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
    expect(await sendGet('healthz')).toMatch(/^HTTP\/1\.1 400 /);
  });

  test('is slow to send its headers gets a timeout', async () => {
    const app = createApp({
      context: { stopping: new AbortController().signal, bodyMemory: new BodyMemory() } as ServerContext,
      routes: ROUTES,
      authenticator: {
        isInOpenMode: true,
        authenticate: () => Promise.reject(new Error('not asked')),
        ...LASTING_CREDENTIALS,
      },
      rateLimiter: new RateLimiter(),
      accessLog: () => {},
      errorLog: () => {},
    });
    const settings = { ...DEFAULT_LISTEN_SETTINGS, headers_timeout_ms: 50 };
    const listening = await listen(app, { host: '127.0.0.1', port: 0 }, settings);
    onTestFinished(() => listening.stop());
    const sendSlowly = () =>
      new Promise<string>((resolve) => {
        const socket = connect(listening.port, '127.0.0.1', () =>
          socket.write('GET /healthz HTTP/1.1\r\nHost: x'),
        );
        socket.once('data', (chunk) => resolve(String(chunk)));
        // If the client sends after the server has closed, a reset discards the response, and the loop tries again.
        socket.once('error', () => resolve('')).once('close', () => resolve(''));
      });
    let reply = '';
    while (reply === '') reply = await sendSlowly();
    expect(reply).toMatch(/^HTTP\/1\.1 408 .*TIMEOUT/s);
  });

  test('disconnects in the middle of its body does not affect the server', async () => {
    const socket = connect(testServer.running.port, '127.0.0.1');
    socket.write(
      `POST ${PROJECT_URL}/claims HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{"task`,
      () => socket.destroy(),
    );
    await new Promise((resolve) => socket.once('close', resolve));
    expect((await testServer.get('/healthz')).status).toBe(200);
  });

  test('is a page of another site is refused in open mode', async () => {
    const foreignPage = await testServer.request(
      'POST',
      `${PROJECT_URL}/claims`,
      {},
      { origin: 'https://example.com' },
    );
    expect([foreignPage.status, foreignPage.body.code]).toEqual([403, 'FORBIDDEN']);
    const foreignHost = await testServer.sendRaw(
      'GET /readyz HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n',
    );
    expect(foreignHost).toMatch(/^HTTP\/1\.1 403 .*FORBIDDEN/s);
    const ownPage = await testServer.requestOverSocket('GET', `${PROJECT_URL}/status`, undefined, {
      origin: testServer.url,
    });
    expect(ownPage.status).toBe(200);
  });
});

/** The script of a second process: the limit of open files applies per process, and each end of a connection counts. */
const CROWD_SCRIPT = `
const { connect } = require('node:net');
const [port, count] = process.argv.slice(1).map(Number);
const open = () => new Promise((resolve, reject) => {
  const socket = connect(port, '127.0.0.1', () => socket.write('GET /healthz HTTP/1.1\\r\\n', resolve));
  socket.once('error', reject);
});
(async () => {
  for (let opened = 0; opened < count; opened += 200) await Promise.all(Array.from({ length: 200 }, open));
  console.log('all here');
})();`;

test('answers a request while ten thousand connections are open', async () => {
  const openFilesMax = Number(execFileSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }));
  const count = Math.min(
    10_000,
    (Number.isNaN(openFilesMax) ? Number.POSITIVE_INFINITY : openFilesMax) - 1000,
  );
  const crowd = spawn(process.execPath, ['-e', CROWD_SCRIPT, String(testServer.running.port), String(count)]);
  onTestFinished(() => void crowd.kill());
  const reply = await new Promise((resolve) => {
    crowd.stdout.once('data', (chunk) => resolve(String(chunk).trim()));
    crowd.stderr.once('data', (chunk) => resolve(String(chunk)));
  });
  expect(reply).toBe('all here');
  expect((await testServer.get(`${PROJECT_URL}/status`)).status).toBe(200);
});

test('does not start on a network address without authentication', async () => {
  const opened = await openStoreUrl('memory:', () => {});
  await expect(startServer({ ...opened, host: '0.0.0.0', port: 0 })).rejects.toThrow(/gen key create/);
});
