import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { Coordinator } from '../coordinator/coordinator.js';
import { openMemoryStore } from '../stores/memory/memory-store.js';
import { type EventQuery, type ProjectKey, type Store, StoreUnavailable } from '../stores/store.js';
import { ALWAYS_AUTHORIZED } from './auth/authorization.js';
import { answerRequest } from './node-adapter.js';
import { type FeedSettings, ProjectFeeds } from './project-feeds.js';
import { STREAM_HEADERS } from './response.js';
import type { App } from './route.js';
import { EventStreamClient } from './testing/event-stream-client.js';
import { PROJECT_URL, TestServer } from './testing/test-server.js';

const STREAM = `${PROJECT_URL}/events/stream`;
const positionsUpTo = (count: number, from = 1) =>
  Array.from({ length: count - from + 1 }, (_, index) => index + from);
const taskIds = Array.from({ length: 40 }, (_, index) => `A-${String(index + 1).padStart(3, '0')}-x`);

/** Produces a few events: a session with its first claim, a claim, a release. */
async function produceEvents(testServer: TestServer, task: string): Promise<number> {
  const { generation, ...handle } = await testServer.claim(task);
  await testServer.post(`${PROJECT_URL}/claims/release`, { ...handle, expected_generation: generation });
  return (await testServer.get(`${PROJECT_URL}/status`)).body.position;
}

test('sends past events, then new ones, each once and in order', async () => {
  const testServer = await TestServer.forTest();
  await testServer.putPlan(...taskIds);
  const positionBefore = await produceEvents(testServer, 'A-001-x');
  const listener = EventStreamClient.open(testServer.running.port, STREAM);
  await listener.waitUntil(() => listener.positions.length === positionBefore);
  const positionAfter = await produceEvents(testServer, 'A-002-x');
  await listener.waitUntil(() => listener.positions.length >= positionAfter);
  expect(listener.positions).toEqual(positionsUpTo(positionAfter));
});

// req: PRJ-006
test('resumes from its cursor without loss or repetition, also after a restart of the server', async () => {
  const testServer = await TestServer.forTest();
  await testServer.putPlan(...taskIds);
  await produceEvents(testServer, 'A-001-x');
  const first = EventStreamClient.open(testServer.running.port, STREAM);
  await first.waitUntil(() => first.positions.length >= 2);
  first.disconnect();
  await first.waitForEnd();
  await produceEvents(testServer, 'A-002-x');
  const second = EventStreamClient.open(testServer.running.port, STREAM, first.cursor);
  await second.waitUntil(() => second.positions.length >= 1);
  const working = Promise.all(taskIds.slice(2, 20).map((id) => produceEvents(testServer, id)));
  await second.waitUntil(() => second.positions.length >= 15);
  await working;
  await testServer.restart();
  await second.waitForEnd();
  const end = await produceEvents(testServer, 'A-021-x');
  const third = EventStreamClient.open(testServer.running.port, `${STREAM}?after=${second.cursor}`);
  await third.waitUntil(() => third.positions.at(-1) === end);
  expect([...first.positions, ...second.positions, ...third.positions]).toEqual(positionsUpTo(end));
});

test('sends the same events to every subscriber that joins while events arrive', async () => {
  const testServer = await TestServer.forTest();
  await testServer.putPlan(...taskIds);
  const working = (async () => {
    let end = 0;
    for (const id of taskIds) end = await produceEvents(testServer, id);
    return end;
  })();
  const listeners: EventStreamClient[] = [];
  for (let at = 0; at < 30; at += 1) {
    listeners.push(EventStreamClient.open(testServer.running.port, STREAM));
    await testServer.get('/healthz');
  }
  const end = await working;
  for (const listener of listeners) {
    await listener.waitUntil(() => listener.positions.length >= end);
    expect(listener.positions).toEqual(positionsUpTo(end));
  }
});

test('supports the same filters as a page of events, and can start at the current position', async () => {
  const testServer = await TestServer.forTest();
  await testServer.putPlan(...taskIds);
  const positionBefore = await produceEvents(testServer, 'A-001-x');
  const ofOneTask = EventStreamClient.open(testServer.running.port, `${STREAM}?task_id=A-002-x`);
  const fromNow = EventStreamClient.open(testServer.running.port, `${STREAM}?after=now`);
  await Promise.all(
    [ofOneTask, fromNow].map((listener) => listener.waitUntil(() => listener.socket.bytesRead > 0)),
  );
  await produceEvents(testServer, 'A-003-x');
  const end = await produceEvents(testServer, 'A-002-x');
  await fromNow.waitUntil(() => fromNow.positions.at(-1) === end);
  expect(fromNow.positions).toEqual(positionsUpTo(end, positionBefore + 1));
  await ofOneTask.waitUntil(() => ofOneTask.positions.at(-1) === end);
  const page = await testServer.get(`${PROJECT_URL}/events?task_id=A-002-x`);
  expect(ofOneTask.positions).toEqual(page.body.events.map((event: { position: number }) => event.position));
});

const QUIET: FeedSettings = { heartbeat_ms: 60_000, unsent_bytes_max: 1 << 20 };
const KEY = { tenant_id: 'acme', project_id: 'shop' };

/** Hooks that delay a read of the log, before and after it. */
interface ReadHooks {
  before?: (query: EventQuery) => Promise<void>;
  after?: (query: EventQuery) => Promise<void>;
}

/** Holds reads that start at a position until released; `held` resolves at the first. */
function holdAt(position: number) {
  let release = (): void => {};
  let arrived = (): void => {};
  const held = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const open = new Promise<void>((resolve) => {
    release = resolve;
  });
  const hold = async ({ after }: EventQuery): Promise<void> => {
    if (after !== position) return;
    arrived();
    await open;
  };
  return { hold, held, release: () => release() };
}

/** Feeds on their own socket, over a store that counts reads of its log. */
async function openFeeds(settings: FeedSettings, authorization = ALWAYS_AUTHORIZED) {
  const memory = openMemoryStore();
  const readHooks: ReadHooks = {};
  let reads = 0;
  const store: Store = Object.create(memory, {
    events: {
      value: async (projectKey: ProjectKey, query: EventQuery) => {
        reads += 1;
        await readHooks.before?.(query);
        const events = await memory.events(projectKey, query);
        await readHooks.after?.(query);
        return events;
      },
    },
    capabilities: { value: { ...memory.capabilities, single_writer: true } },
    home: { value: KEY },
  });
  const coordinator = await Coordinator.open({ store });
  const feeds = new ProjectFeeds(coordinator.feed, store, settings);
  const responses: ServerResponse[] = [];
  const respond: App['respond'] = async ({ connection }) => {
    const stream = await feeds.subscribe(KEY, { filter: {}, position: 0, connection, authorization });
    return { status: 200, headers: STREAM_HEADERS, ...stream };
  };
  const server = createServer((incoming, outgoing) => {
    responses.push(outgoing);
    void answerRequest({ respond }, incoming, outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    await feeds.close();
    server.closeAllConnections();
    server.close();
    coordinator.close();
  });
  const plan = (version: number, size = 1, filler = '') =>
    coordinator.plans.put(KEY, {
      tracks: { A: taskIds.slice(0, size).map((id) => ({ id, description: `${version}${filler}` })) },
    });
  return { port: (server.address() as AddressInfo).port, plan, responses, readHooks, readCount: () => reads };
}

test('reads the log once for all subscribers', async () => {
  const { port, plan, readCount } = await openFeeds(QUIET);
  await plan(1);
  const listeners = Array.from({ length: 50 }, () => EventStreamClient.open(port, '/'));
  for (const listener of listeners) await listener.waitUntil(() => listener.positions.length === 1);
  const readsBefore = readCount();
  for (let version = 2; version <= 11; version += 1) await plan(version);
  for (const listener of listeners) await listener.waitUntil(() => listener.positions.length === 11);
  expect(readCount() - readsBefore).toBeLessThan(50);
});

test('a subscriber that is still reading past events does not miss the events that others get meanwhile', async () => {
  const { port, plan, readHooks } = await openFeeds(QUIET);
  await plan(1);
  const first = EventStreamClient.open(port, '/');
  await first.waitUntil(() => first.positions.length === 1);
  const reading = holdAt(0);
  readHooks.after = reading.hold;
  const second = EventStreamClient.open(port, '/');
  await reading.held;
  await plan(2);
  await first.waitUntil(() => first.positions.length === 2);
  reading.release();
  await second.waitUntil(() => second.positions.length === 2);
  await plan(3);
  await second.waitUntil(() => second.positions.length === 3);
  expect(second.positions).toEqual([1, 2, 3]);
});

test('a subscriber does not get again the events that it read before they were sent to others', async () => {
  const { port, plan, readHooks } = await openFeeds(QUIET);
  await plan(1);
  const first = EventStreamClient.open(port, '/');
  await first.waitUntil(() => first.positions.length === 1);
  const tail = holdAt(1);
  readHooks.before = tail.hold;
  await plan(2);
  await tail.held;
  const second = EventStreamClient.open(port, '/');
  await second.waitUntil(() => second.positions.length === 2);
  await plan(3);
  tail.release();
  await plan(4);
  for (const listener of [first, second]) {
    await listener.waitUntil(() => listener.positions.at(-1) === 4);
    expect(listener.positions).toEqual([1, 2, 3, 4]);
  }
});

test('keeps a subscriber connected if the store becomes unavailable while it reads past events', async () => {
  const { port, plan, readHooks } = await openFeeds(QUIET);
  await plan(1);
  // One failure for the reader of the feed, and one for the subscriber.
  let failures = 2;
  readHooks.before = async ({ after }) => {
    if (after !== 1 || failures === 0) return;
    failures -= 1;
    throw new StoreUnavailable('The store is away.');
  };
  const listener = EventStreamClient.open(port, '/');
  await listener.waitUntil(() => failures === 0);
  await plan(2);
  await listener.waitUntil(() => listener.positions.length === 2);
  expect(listener.positions).toEqual([1, 2]);
});

test('sends nothing to a credential that is no longer valid, even without a notification', async () => {
  let isValid = true;
  const authorization = { ...ALWAYS_AUTHORIZED, isStillAuthorized: () => isValid };
  const { port, plan } = await openFeeds(QUIET, authorization);
  await plan(1);
  const listener = EventStreamClient.open(port, '/');
  await listener.waitUntil(() => listener.positions.length === 1);
  isValid = false;
  await plan(2);
  await listener.waitUntil(() => listener.commentCount > 0 || listener.positions.length > 1);
  expect([listener.positions, listener.commentCount]).toEqual([[1], 1]);
});

test('ends a stream that is still reading past events when its credential becomes invalid', async () => {
  let isValid = true;
  const authorization = { ...ALWAYS_AUTHORIZED, isStillAuthorized: () => isValid };
  const { port, plan, readHooks } = await openFeeds(QUIET, authorization);
  await plan(1);
  const reading = holdAt(0);
  readHooks.after = reading.hold;
  const listener = EventStreamClient.open(port, '/');
  await reading.held;
  isValid = false;
  reading.release();
  await listener.waitForEnd();
  expect(listener.positions).toEqual([]);
});

test('sends heartbeats as comments', async () => {
  const { port } = await openFeeds({ heartbeat_ms: 5, unsent_bytes_max: 1 << 20 });
  const listener = EventStreamClient.open(port, '/');
  await listener.waitUntil(() => listener.commentCount >= 3);
  expect(listener.positions).toEqual([]);
});

test('disconnects a subscriber that does not read, and keeps sending to the others', async () => {
  const { port, plan, responses } = await openFeeds({ heartbeat_ms: 60_000, unsent_bytes_max: 1 << 18 });
  const slow = EventStreamClient.open(port, '/');
  await slow.waitUntil(() => slow.socket.bytesRead > 0);
  const slowResponse = responses[0] as ServerResponse;
  const quick = EventStreamClient.open(port, '/');
  await plan(0);
  for (const listener of [slow, quick]) await listener.waitUntil(() => listener.positions.length === 1);
  const cut = new Promise<void>((resolve) => slowResponse.once('close', resolve));
  slow.socket.pause();
  let isOpen = true;
  void cut.then(() => {
    isOpen = false;
  });
  // The socket buffers of both ends take a few megabytes before anything is queued in the process.
  for (let version = 1; isOpen; version += 1) {
    await plan(version, taskIds.length, 'x'.repeat(1900));
    await quick.waitUntil(() => quick.positions.length === version + 1);
  }
  slow.socket.resume();
  await slow.waitForEnd();
  expect(slow.positions.length).toBeLessThan(quick.positions.length);
  expect(slow.positions).toEqual(positionsUpTo(slow.positions.length));
});
