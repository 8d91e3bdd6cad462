import { Hono } from 'hono';
import { handle, type LambdaContext, type LambdaEvent } from 'hono/aws-lambda';
import { expect, onTestFinished, test } from 'vitest';
import { Genesis } from '../client/index.js';
import { Coordinator } from '../coordinator/coordinator.js';
import { openMemoryStore } from '../stores/memory/memory-store.js';
import { OPEN_PRINCIPAL } from './auth/principal.js';
import { createInProcessApp } from './in-process.js';
import { COMMAND_BODY_BYTES_MAX } from './middleware/body.js';
import type { App } from './route.js';
import { PROJECT_URL } from './testing/test-server.js';

const TASK = { id: 'A-001-x', description: 'x', depends_on: [] };
const CLAIM = { task_id: TASK.id, agent_id: 'ada', session_id: 's1' };

/** The whole app on a store in memory, without a socket. */
async function openApp() {
  const store = openMemoryStore();
  const coordinator = await Coordinator.open({ store });
  const { app, feeds, close } = createInProcessApp(coordinator, store, OPEN_PRINCIPAL);
  onTestFinished(async () => {
    await close();
    coordinator.close();
  });
  await send(app, 'PUT', '/plan', { tracks: { A: [TASK] } });
  return { app, feeds };
}

const send = (app: App, method: string, path: string, body: unknown, signal?: AbortSignal) =>
  app.request(`${PROJECT_URL}${path}`, {
    method,
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
    ...(signal === undefined ? {} : { signal }),
  });

test('answers a request without a socket', async () => {
  const { app } = await openApp();
  const granted = await send(app, 'POST', '/claims', CLAIM);
  expect([granted.status, await granted.json()]).toMatchObject([200, { reason: 'GRANTED' }]);
  const states = await send(app, 'POST', '/tasks/batch_get', { task_ids: [TASK.id] });
  expect(await states.json()).toMatchObject({ tasks: [{ task_id: TASK.id }] });
  expect((await send(app, 'POST', '/tasks/other', {})).status).toBe(405);
});

test('refuses a body that is too large, without a declared length', async () => {
  const { app } = await openApp();
  const chunk = new Uint8Array(64 * 1024).fill(120);
  let chunksRead = 0;
  const body = new ReadableStream({
    pull(controller) {
      chunksRead += 1;
      controller.enqueue(chunk);
    },
  });
  const init = { method: 'POST', body, duplex: 'half' } as RequestInit;
  const response = await app.request(`${PROJECT_URL}/claims`, init);
  expect([response.status, await response.json()]).toMatchObject([413, { code: 'BODY_TOO_LARGE' }]);
  expect(chunksRead).toBeLessThan((2 * COMMAND_BODY_BYTES_MAX) / chunk.length);
});

test('streams events until the reader cancels', async () => {
  const { app, feeds } = await openApp();
  const response = await app.request(`${PROJECT_URL}/events/stream`);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = '';
  while (!text.includes('PLAN_')) text += Buffer.from((await reader.read()).value ?? []).toString();
  expect(feeds.subscriberCount()).toBe(1);
  await reader.cancel();
  await expect.poll(() => feeds.subscriberCount()).toBe(0);
});

test('ends a waiting call when its request is aborted', async () => {
  const { app } = await openApp();
  await send(app, 'POST', '/claims', CLAIM);
  const abortController = new AbortController();
  const waiter = { agent_id: 'ben', session_id: 's2', wait_seconds: 30 };
  const waiting = send(app, 'POST', '/next', waiter, abortController.signal);
  abortController.abort();
  expect(await (await waiting).json()).toMatchObject({ reason: 'NOTHING_READY' });
});

test('the SDK completes a plan through fetch in the same process, without a thread for renewals', async () => {
  const { app } = await openApp();
  const genesis = new Genesis({ fetch: app.fetch, tenant: 'acme', project: 'shop' });
  const worked: string[] = [];
  await genesis.work({ agent_id: 'ada' }, async ({ claim }) => {
    worked.push(claim.task_id);
    return { done: true };
  });
  expect(worked).toEqual([TASK.id]);
  expect(await genesis.task(TASK.id)).toMatchObject({ phase: 'COMPLETED' });
});

// req: AWS-005
test('answers an event of API Gateway through an adapter for Lambda', async () => {
  const { app } = await openApp();
  const event = {
    version: '2.0',
    routeKey: '$default',
    rawPath: `${PROJECT_URL}/claims`,
    rawQueryString: '',
    headers: { host: 'fleet.example', 'content-type': 'application/json' },
    requestContext: { domainName: 'fleet.example', http: { method: 'POST', path: `${PROJECT_URL}/claims` } },
    body: JSON.stringify(CLAIM),
    isBase64Encoded: false,
  } as unknown as LambdaEvent;
  const lambda = handle(new Hono().mount('/', (request) => app.fetch(request)));
  const reply = await lambda(event, {} as LambdaContext);
  expect(reply).toMatchObject({ statusCode: 200, headers: { 'content-type': 'application/json' } });
  expect(JSON.parse(reply.body)).toMatchObject({ success: true, claim: { task_id: TASK.id } });
});
