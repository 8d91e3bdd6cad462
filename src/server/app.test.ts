import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { openMemoryStore } from '../stores/memory/memory-store.js';
import { type Store, StoreBroken, StoreUnavailable } from '../stores/store.js';
import { type AppServices, createApp } from './app.js';
import { OPEN_PRINCIPAL } from './auth/principal.js';
import { RateLimiter } from './auth/rate-limit.js';
import { BodyMemory } from './body-memory.js';
import { listen } from './listen.js';
import { textResponse } from './response.js';
import type { ServerContext } from './route.js';
import { startServer } from './server.js';
import { LASTING_CREDENTIALS } from './testing/credentials.js';

const NO_LOG = { accessLog: null };

/** An app with one route that throws this error. */
async function openFailingApp(
  error: unknown,
  log: Pick<AppServices, 'accessLog' | 'isAccessLogged'> = NO_LOG,
) {
  const logged: Record<string, unknown>[] = [];
  const app = createApp({
    context: { stopping: new AbortController().signal, bodyMemory: new BodyMemory() } as ServerContext,
    routes: [
      {
        id: 'fails',
        method: 'POST',
        path: '/fails',
        action: 'public',
        summary: 'Fails',
        body: { kind: 'json', schema: z.object({}) },
        reply: z.object({}),
        run: () => Promise.reject(error),
      },
    ],
    authenticator: { isInOpenMode: true, authenticate: async () => OPEN_PRINCIPAL, ...LASTING_CREDENTIALS },
    rateLimiter: new RateLimiter(),
    ...log,
    errorLog: (line) => logged.push(line),
  });
  const listening = await listen(app, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => listening.stop());
  const reply = await fetch(`http://127.0.0.1:${listening.port}/fails`, {
    method: 'POST',
    body: JSON.stringify({ request_id: 'r1' }),
  });
  return { status: reply.status, headers: reply.headers, text: await reply.text(), logged };
}

test('an error of the access log becomes an internal error, and does not end the process', async () => {
  const isAccessLogged = vi.fn(() => true);
  isAccessLogged.mockImplementationOnce(() => {
    throw new Error('the log is broken');
  });
  const unavailable = new StoreUnavailable('away');
  const { status, logged } = await openFailingApp(unavailable, { accessLog: () => {}, isAccessLogged });
  expect(status).toBe(500);
  expect(logged[0]?.error).toMatch(/the log is broken/);
});

test('an internal error gives the caller an id, and only the log has the error', async () => {
  const { status, text, logged } = await openFailingApp(new Error('the secret is 42'));
  expect(status).toBe(500);
  expect(JSON.parse(text)).toMatchObject({ code: 'INTERNAL', request_id: 'r1' });
  expect(text).not.toMatch(/secret|\.ts|at /);
  const [line] = logged;
  expect(line?.error).toMatch(/the secret is 42/);
  expect(text).toContain(line?.error_id);
});

test('an address that is in use leaves no timer running', async () => {
  const app = { match: () => null, respond: async () => textResponse('', 'text/plain') };
  const first = await listen(app, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => first.stop());
  const started = vi.spyOn(globalThis, 'setInterval');
  onTestFinished(() => started.mockRestore());
  await expect(listen(app, { host: '127.0.0.1', port: first.port })).rejects.toMatchObject({
    code: 'EADDRINUSE',
  });
  expect(started).not.toHaveBeenCalled();
});

test('the server responds 503 if the store cannot be reached, and 504 if the store may have written', async () => {
  const away = await openFailingApp(new StoreUnavailable('no route to 10.0.0.3'));
  expect([away.status, JSON.parse(away.text).code]).toEqual([503, 'UNAVAILABLE']);
  expect(away.headers.get('retry-after')).not.toBeNull();
  expect(away.text).not.toContain('10.0.0.3');
  const broken = await openFailingApp(new StoreBroken('disk on fire'));
  expect([broken.status, JSON.parse(broken.text).code]).toEqual([504, 'UNKNOWN']);
  expect(broken.text).not.toContain('fire');
});

// req: RCV-007
test('the server is alive but not ready while its store is unavailable', async () => {
  const memory = openMemoryStore();
  let isAway = false;
  const storeNow = () => (isAway ? Promise.reject(new StoreUnavailable('away')) : memory.now());
  const store: Store = Object.create(memory, { now: { value: storeNow } });
  const server = await startServer({ store, port: 0 });
  onTestFinished(() => server.stop());
  const statusOf = async (path: string) => (await fetch(server.url + path)).status;
  expect([await statusOf('/healthz'), await statusOf('/readyz')]).toEqual([200, 200]);
  isAway = true;
  expect([await statusOf('/healthz'), await statusOf('/readyz')]).toEqual([200, 503]);
});
