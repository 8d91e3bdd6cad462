/**
 * Who: someone whose credential is no longer valid. An agent's key was revoked or has expired, or the server was open
 * until its first key was made. They still have earlier connections: a `next` that waits for work, over HTTP or MCP, or
 * an event stream.
 *
 * What they want: work or events after the credential stopped being valid, without authenticating again.
 *
 * What stops them: `isStillAuthorized` is checked in the batch that decides a command, and before each write to a
 * stream. A signal on revocation and a timer for the expiry end calls that only wait. A waiting call is answered 401
 * `UNAUTHENTICATED`, whatever its result; a stream ends. This holds at once on the coordinator that revoked, and on
 * others as soon as they have followed the store.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { Coordinator, isProblem, OPEN_CALLER } from '../../src/coordinator/index.js';
import { type RunningServer, startServer } from '../../src/server/server.js';
import { PROJECT_URL, TENANT_URL, TestServer } from '../../src/server/testing/test-server.js';
import { openMemoryStore } from '../../src/stores/memory/memory-store.js';
import type { Store, Transaction } from '../../src/stores/store.js';
import { bearer } from '../support/bearer.js';

const TASK = 'A-001-x';
const PROJECT_KEY = { tenant_id: 'acme', project_id: 'shop' };

type Headers = Record<string, string>;

interface StatusAndBody {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the tests read JSON of several shapes
  readonly body: any;
}

async function request(url: string, method: string, path: string, body?: unknown, headers: Headers = {}) {
  const response = await fetch(url + path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() } as StatusAndBody;
}

/** A server with an admin's key, an agent's key, and one task that the admin holds. */
async function startGuarded(agent: object = {}) {
  const testServer = await TestServer.forTest();
  await testServer.putPlan(TASK);
  const admin = bearer((await testServer.post(`${TENANT_URL}/keys`, { role: 'admin' })).body.token);
  const createdKey = (
    await testServer.request('POST', `${TENANT_URL}/keys`, { role: 'agent', ...agent }, admin)
  ).body;
  const held = await testServer.request(
    'POST',
    `${PROJECT_URL}/claims`,
    who('admin', { task_id: TASK }),
    admin,
  );
  const { id: claim_id, generation: expected_generation, session_id } = held.body.claim;
  const handle = { task_id: TASK, claim_id, expected_generation, session_id };
  return {
    testServer,
    admin,
    agent: { token: createdKey.token as string, ...bearer(createdKey.token) },
    revoke: () => testServer.request('DELETE', `${TENANT_URL}/keys/${createdKey.key_id}`, undefined, admin),
    releaseTask: () => testServer.request('POST', `${PROJECT_URL}/claims/release`, handle, admin),
    task: () => testServer.request('GET', `${PROJECT_URL}/tasks/${TASK}`, undefined, admin),
  };
}

const who = (agent_id: string, more: object) => ({ agent_id, session_id: `s-${agent_id}`, ...more });
const WAITING_REQUEST = who('mallory', { wait_seconds: 30 });

/** Resolves when a request for work has passed authentication. */
function waitForNextCall({ coordinator }: RunningServer): Promise<void> {
  return new Promise((resolve) => {
    const next = coordinator.claims.next.bind(coordinator.claims);
    coordinator.claims.next = (...args) => {
      resolve();
      return next(...args);
    };
  });
}

/** An event stream over a plain socket: the text so far, and signals for its first events and its end. */
function openStream(port: number, token: string | null) {
  const authorization = token === null ? '' : `Authorization: Bearer ${token}\r\n`;
  const request = `GET ${PROJECT_URL}/events/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n${authorization}Connection: close\r\n\r\n`;
  const socket = connect(port, '127.0.0.1', () => socket.write(request));
  onTestFinished(() => void socket.destroy());
  let reply = '';
  let wake = (): void => {};
  socket.on('data', (chunk) => {
    reply += chunk;
    wake();
  });
  socket.on('close', () => wake());
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return {
    socket,
    has: (part: string) =>
      until(() => reply.includes(part) || socket.closed).then(() => reply.includes(part)),
    ended: () => until(() => socket.closed).then(() => reply),
  };
}

const MCP = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' };
const NEXT_TOOL = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'next', arguments: { wait_seconds: 30 } },
};

test.each([
  ['HTTP', `${PROJECT_URL}/next`, WAITING_REQUEST, {}],
  ['MCP', '/mcp/acme/shop', NEXT_TOOL, MCP],
] as const)(
  'grants nothing to a %s call that waits when its key is revoked',
  async (_, path, body, headers) => {
    const { testServer, agent, revoke, releaseTask, task } = await startGuarded();
    const arrived = waitForNextCall(testServer.running);
    const waiting = request(testServer.url, 'POST', path, body, {
      ...headers,
      authorization: agent.authorization,
    });
    await arrived;
    await revoke();
    await releaseTask();
    expect(await waiting).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
    expect((await task()).body).toMatchObject({ readiness: 'ready', generation: 1 });
  },
);

test.each([
  ['HTTP', `${PROJECT_URL}/next`, WAITING_REQUEST, {}],
  ['MCP', '/mcp/acme/shop', NEXT_TOOL, MCP],
] as const)(
  'ends a waiting %s call when its key is revoked, before its wait time is over',
  async (_, path, body, headers) => {
    const { testServer, agent, revoke } = await startGuarded();
    const arrived = waitForNextCall(testServer.running);
    const waiting = request(testServer.url, 'POST', path, body, {
      ...headers,
      authorization: agent.authorization,
    });
    await arrived;
    await revoke();
    // Nothing else changes, so only the signal can end the call. Without the signal the reply would be 409 NOTHING_READY.
    expect(await waiting).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
  },
);

test('ends a waiting call when its key expires', async () => {
  const { testServer, agent } = await startGuarded({ expires_in_seconds: 1 });
  const waiting = await request(
    testServer.url,
    'POST',
    `${PROJECT_URL}/next`,
    WAITING_REQUEST,
    bearer(agent.token),
  );
  expect(waiting).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
});

test('ends the stream of a revoked key before the next event, and leaves other streams open', async () => {
  const { testServer, admin, agent, revoke, releaseTask } = await startGuarded();
  const theirs = openStream(testServer.running.port, agent.token);
  const other = openStream(testServer.running.port, admin.authorization.slice('Bearer '.length));
  expect(await theirs.has('CLAIM_ACQUIRED')).toBe(true);
  expect(await other.has('CLAIM_ACQUIRED')).toBe(true);
  await revoke();
  await releaseTask();
  expect(await other.has('CLAIM_RELEASED')).toBe(true);
  const reply = await theirs.ended();
  expect(reply).not.toContain('CLAIM_RELEASED');
  expect(reply).toContain(': ended: the credential');
  expect(other.socket.closed).toBe(false);
});

test('ends the stream of a key that expires', async () => {
  const { testServer, agent } = await startGuarded({ expires_in_seconds: 1 });
  const reply = await openStream(testServer.running.port, agent.token).ended();
  expect(reply).toContain(': ended: the credential');
});

test('ends the calls and streams of anonymous callers when the first key closes an open server', async () => {
  const testServer = await TestServer.forTest();
  await testServer.putPlan(TASK);
  await testServer.claim(TASK);
  const arrived = waitForNextCall(testServer.running);
  const waiting = request(testServer.url, 'POST', `${PROJECT_URL}/next`, WAITING_REQUEST);
  const stream = openStream(testServer.running.port, null);
  expect(await stream.has('CLAIM_ACQUIRED')).toBe(true);
  await arrived;
  expect((await testServer.post(`${TENANT_URL}/keys`, { role: 'admin' })).status).toBe(201);
  expect(await waiting).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
  expect(await stream.ended()).toContain(': ended: the credential');
});

test('ends waiting calls and streams on another coordinator once it has followed the store', async () => {
  const store: Store = Object.create(openMemoryStore(), { close: { value: async () => {} } });
  const [first, second] = [await startServer({ store, port: 0 }), await startServer({ store, port: 0 })];
  onTestFinished(async () => {
    await first.stop();
    await second.stop();
  });
  const plan = { tracks: { A: [{ id: TASK, description: 'x', depends_on: [] }] } };
  expect((await request(first.url, 'PUT', `${PROJECT_URL}/plan`, plan)).status).toBe(200);
  const admin = bearer(
    (await request(first.url, 'POST', `${TENANT_URL}/keys`, { role: 'admin' })).body.token,
  );
  const agent = (await request(first.url, 'POST', `${TENANT_URL}/keys`, { role: 'agent' }, admin)).body;
  await request(first.url, 'POST', `${PROJECT_URL}/claims`, who('admin', { task_id: TASK }), admin);
  const statusOnSecond = async () =>
    (await request(second.url, 'GET', `${PROJECT_URL}/status`, undefined, bearer(agent.token))).status;
  while ((await statusOnSecond()) !== 200);
  const arrived = waitForNextCall(second);
  const waiting = request(second.url, 'POST', `${PROJECT_URL}/next`, WAITING_REQUEST, bearer(agent.token));
  const stream = openStream(second.port, agent.token);
  expect(await stream.has('CLAIM_ACQUIRED')).toBe(true);
  await arrived;
  expect(
    (await request(first.url, 'DELETE', `${TENANT_URL}/keys/${agent.key_id}`, undefined, admin)).status,
  ).toBe(200);
  expect(await waiting).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
  expect(await stream.ended()).toContain(': ended: the credential');
});

// The request is a query: unlike for a command, only the server authenticates the caller again after the body has arrived.
test('refuses a request whose key is revoked while its body is still arriving', async () => {
  const { testServer, agent, revoke } = await startGuarded();
  const body = JSON.stringify({ task_ids: [TASK] });
  const socket = connect(testServer.running.port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.write(
    `POST ${PROJECT_URL}/tasks/batch_get HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n` +
      `Authorization: ${agent.authorization}\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n{`,
  );
  // The interim response shows that the headers were read.
  await once(socket, 'data');
  await revoke();
  socket.write(body.slice(1));
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 401 /m);
});

test('refuses a queued command if the credential of its caller is revoked before the decision', async () => {
  const memory = openMemoryStore();
  let release = (): void => {};
  let hold: Promise<void> | null = null;
  const store: Store = Object.create(memory, {
    commit: {
      value: async (transactions: readonly Transaction[]) => {
        await hold;
        return memory.commit(transactions);
      },
    },
    capabilities: { value: { ...memory.capabilities, commits_at_once: 1 } },
  });
  const coordinator = await Coordinator.open({ store });
  onTestFinished(() => coordinator.close());
  await coordinator.plans.put(PROJECT_KEY, {
    tracks: { A: [TASK, 'A-002-x'].map((id) => ({ id, description: id, depends_on: [] })) },
  });
  hold = new Promise((resolve) => {
    release = resolve;
  });
  const first = coordinator.claims.claimTask(PROJECT_KEY, who('alice', { task_id: TASK }));
  await new Promise((resolve) => setImmediate(resolve));
  let isValid = true;
  const mallory = { ...OPEN_CALLER, principal: 'key-1', isStillAuthorized: () => isValid };
  const queued = [
    coordinator.claims.claimTask(PROJECT_KEY, who('mallory', { task_id: 'A-002-x' }), mallory),
    coordinator.claims.next(PROJECT_KEY, who('mallory', {}), mallory),
  ];
  isValid = false;
  release();
  expect(await first).toMatchObject({ reason: 'GRANTED' });
  for (const reply of await Promise.all(queued)) {
    expect(isProblem(reply) && reply.problem).toBe('UNAUTHENTICATED');
  }
  const events = await memory.events(PROJECT_KEY, { after: 0, limit: 100 });
  expect(events.filter(({ agent_id }) => agent_id === 'mallory')).toEqual([]);
});
