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
const upTo = (count: number, from = 1) =>
  Array.from({ length: count - from + 1 }, (_, index) => index + from);
const ids = Array.from({ length: 40 }, (_, index) => `A-${String(index + 1).padStart(3, '0')}-x`);

/** Produces a few events: a session with its first claim, a claim, a release. */
async function produceEvents(testServer: TestServer, task: string): Promise<number> {
  const { generation, ...handle } = await testServer.claim(task);
  await testServer.post(`${PROJECT_URL}/claims/release`, { ...handle, expected_generation: generation });
  return (await testServer.get(`${PROJECT_URL}/status`)).body.position;
}

test('sends past events, then new ones, each once and in order', async () => {
  const testServer = await TestServer.forTest();
  await testServer.plan(...ids);
  const past = await produceEvents(testServer, 'A-001-x');
  const listener = EventStreamClient.open(testServer.running.port, STREAM);
  await listener.waitUntil(() => listener.positions.length === past);
  const now = await produceEvents(testServer, 'A-002-x');
  await listener.waitUntil(() => listener.positions.length >= now);
  expect(listener.positions).toEqual(upTo(now));
});

// req: PRJ-006
test('resumes from its cursor without loss or repetition, also after a restart of the server', async () => {
  const testServer = await TestServer.forTest();
  await testServer.plan(...ids);
  await produceEvents(testServer, 'A-001-x');
  const first = EventStreamClient.open(testServer.running.port, STREAM);
  await first.waitUntil(() => first.positions.length >= 2);
  first.disconnect();
  await first.waitForEnd();
  await produceEvents(testServer, 'A-002-x');
  const second = EventStreamClient.open(testServer.running.port, STREAM, first.cursor);
  await second.waitUntil(() => second.positions.length >= 1);
  const working = Promise.all(ids.slice(2, 20).map((id) => produceEvents(testServer, id)));
  await second.waitUntil(() => second.positions.length >= 15);
  await working;
  await testServer.restart();
  await second.waitForEnd();
  const end = await produceEvents(testServer, 'A-021-x');
  const third = EventStreamClient.open(testServer.running.port, `${STREAM}?after=${second.cursor}`);
  await third.waitUntil(() => third.positions.at(-1) === end);
  expect([...first.positions, ...second.positions, ...third.positions]).toEqual(upTo(end));
});

test('sends the same events to every subscriber that joins while events arrive', async () => {
  const testServer = await TestServer.forTest();
  await testServer.plan(...ids);
  const working = (async () => {
    let end = 0;
    for (const id of ids) end = await produceEvents(testServer, id);
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
    expect(listener.positions).toEqual(upTo(end));
  }
});

test('supports the filters of pages, and can start at the current position', async () => {
  const testServer = await TestServer.forTest();
  await testServer.plan(...ids);
  const past = await produceEvents(testServer, 'A-001-x');
  const one = EventStreamClient.open(testServer.running.port, `${STREAM}?task_id=A-002-x`);
  const fresh = EventStreamClient.open(testServer.running.port, `${STREAM}?after=now`);
  await Promise.all([one, fresh].map((listener) => listener.waitUntil(() => listener.socket.bytesRead > 0)));
  await produceEvents(testServer, 'A-003-x');
  const end = await produceEvents(testServer, 'A-002-x');
  await fresh.waitUntil(() => fresh.positions.at(-1) === end);
  expect(fresh.positions).toEqual(upTo(end, past + 1));
  await one.waitUntil(() => one.positions.at(-1) === end);
  const page = await testServer.get(`${PROJECT_URL}/events?task_id=A-002-x`);
  expect(one.positions).toEqual(page.body.events.map((event: { position: number }) => event.position));
});

const QUIET: FeedSettings = { heartbeat_ms: 60_000, unsent_bytes_max: 1 << 20 };
const KEY = { tenant_id: 'acme', project_id: 'shop' };

/** Hooks that delay a read of the log, before and after it. */
interface Holds {
  before?: (query: EventQuery) => Promise<void>;
  after?: (query: EventQuery) => Promise<void>;
}

/** Holds reads that start at a position until released; `held` resolves at the first. */
function holdAt(position: number) {
  let letGo = (): void => {};
  let arrived = (): void => {};
  const held = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const open = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const hold = async ({ after }: EventQuery): Promise<void> => {
    if (after !== position) return;
    arrived();
    await open;
  };
  return { hold, held, letGo: () => letGo() };
}

/** Feeds on their own socket, over a store that counts reads of its log. */
async function feedsOf(settings: FeedSettings, authorization = ALWAYS_AUTHORIZED) {
  const memory = openMemoryStore();
  const holds: Holds = {};
  let reads = 0;
  const store: Store = Object.create(memory, {
    events: {
      value: async (projectKey: ProjectKey, query: EventQuery) => {
        reads += 1;
        await holds.before?.(query);
        const events = await memory.events(projectKey, query);
        await holds.after?.(query);
        return events;
      },
    },
    capabilities: { value: { ...memory.capabilities, single_writer: true } },
    home: { value: KEY },
  });
  const coordinator = await Coordinator.open({ store });
  const feeds = new ProjectFeeds(coordinator.feed, store, settings);
  const outs: ServerResponse[] = [];
  const respond: App['respond'] = async ({ connection }) => {
    const stream = await feeds.subscribe(KEY, { filter: {}, position: 0, connection, authorization });
    return { status: 200, headers: STREAM_HEADERS, ...stream };
  };
  const server = createServer((incoming, outgoing) => {
    outs.push(outgoing);
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
      tracks: { A: ids.slice(0, size).map((id) => ({ id, description: `${version}${filler}` })) },
    });
  return { port: (server.address() as AddressInfo).port, plan, outs, holds, reads: () => reads };
}

test('reads the log once for all subscribers', async () => {
  const { port, plan, reads } = await feedsOf(QUIET);
  await plan(1);
  const listeners = Array.from({ length: 50 }, () => EventStreamClient.open(port, '/'));
  for (const listener of listeners) await listener.waitUntil(() => listener.positions.length === 1);
  const before = reads();
  for (let version = 2; version <= 11; version += 1) await plan(version);
  for (const listener of listeners) await listener.waitUntil(() => listener.positions.length === 11);
  expect(reads() - before).toBeLessThan(50);
});

test('does not miss events that were sent to others while a subscriber was still reading the past', async () => {
  const { port, plan, holds } = await feedsOf(QUIET);
  await plan(1);
  const first = EventStreamClient.open(port, '/');
  await first.waitUntil(() => first.positions.length === 1);
  const reading = holdAt(0);
  holds.after = reading.hold;
  const second = EventStreamClient.open(port, '/');
  await reading.held;
  await plan(2);
  await first.waitUntil(() => first.positions.length === 2);
  reading.letGo();
  await second.waitUntil(() => second.positions.length === 2);
  await plan(3);
  await second.waitUntil(() => second.positions.length === 3);
  expect(second.positions).toEqual([1, 2, 3]);
});

test('does not repeat events that a subscriber read before they were sent to others', async () => {
  const { port, plan, holds } = await feedsOf(QUIET);
  await plan(1);
  const first = EventStreamClient.open(port, '/');
  await first.waitUntil(() => first.positions.length === 1);
  const tail = holdAt(1);
  holds.before = tail.hold;
  await plan(2);
  await tail.held;
  const second = EventStreamClient.open(port, '/');
  await second.waitUntil(() => second.positions.length === 2);
  await plan(3);
  tail.letGo();
  await plan(4);
  for (const listener of [first, second]) {
    await listener.waitUntil(() => listener.positions.at(-1) === 4);
    expect(listener.positions).toEqual([1, 2, 3, 4]);
  }
});

test('keeps a subscriber connected that was reading the past when the store became unavailable', async () => {
  const { port, plan, holds } = await feedsOf(QUIET);
  await plan(1);
  // One for the reader of the feed, one for the subscriber.
  let failures = 2;
  holds.before = async ({ after }) => {
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
  let valid = true;
  const authorization = { ...ALWAYS_AUTHORIZED, isStillAuthorized: () => valid };
  const { port, plan } = await feedsOf(QUIET, authorization);
  await plan(1);
  const listener = EventStreamClient.open(port, '/');
  await listener.waitUntil(() => listener.positions.length === 1);
  valid = false;
  await plan(2);
  await listener.waitUntil(() => listener.comments > 0 || listener.positions.length > 1);
  expect([listener.positions, listener.comments]).toEqual([[1], 1]);
});

test('ends a stream that is still reading the past when its credential becomes invalid', async () => {
  let valid = true;
  const authorization = { ...ALWAYS_AUTHORIZED, isStillAuthorized: () => valid };
  const { port, plan, holds } = await feedsOf(QUIET, authorization);
  await plan(1);
  const reading = holdAt(0);
  holds.after = reading.hold;
  const listener = EventStreamClient.open(port, '/');
  await reading.held;
  valid = false;
  reading.letGo();
  await listener.waitForEnd();
  expect(listener.positions).toEqual([]);
});

test('sends heartbeats as comments', async () => {
  const { port } = await feedsOf({ heartbeat_ms: 5, unsent_bytes_max: 1 << 20 });
  const listener = EventStreamClient.open(port, '/');
  await listener.waitUntil(() => listener.comments >= 3);
  expect(listener.positions).toEqual([]);
});

test('disconnects a subscriber that does not read, and keeps sending to the others', async () => {
  const { port, plan, outs } = await feedsOf({ heartbeat_ms: 60_000, unsent_bytes_max: 1 << 18 });
  const slow = EventStreamClient.open(port, '/');
  await slow.waitUntil(() => slow.socket.bytesRead > 0);
  const slowOut = outs[0] as ServerResponse;
  const quick = EventStreamClient.open(port, '/');
  await plan(0);
  for (const listener of [slow, quick]) await listener.waitUntil(() => listener.positions.length === 1);
  const cut = new Promise<void>((resolve) => slowOut.once('close', resolve));
  slow.socket.pause();
  let open = true;
  void cut.then(() => {
    open = false;
  });
  // The socket buffers of both ends take a few megabytes before anything is queued in the process.
  for (let version = 1; open; version += 1) {
    await plan(version, ids.length, 'x'.repeat(1900));
    await quick.waitUntil(() => quick.positions.length === version + 1);
  }
  slow.socket.resume();
  await slow.waitForEnd();
  expect(slow.positions.length).toBeLessThan(quick.positions.length);
  expect(slow.positions).toEqual(upTo(slow.positions.length));
});
