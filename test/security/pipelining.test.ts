/**
 * Who: anybody who can open a connection, with or without a credential.
 *
 * What they want: to use up the memory with responses that are prepared for a closed connection, by sending many requests
 * on the connection before reading a response; or to hold many large responses at once.
 *
 * What stops them: a connection that closes takes its queued responses with it, and one with too many requests in
 * progress is closed.
 */
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { EventStreamClient } from '../../src/server/testing/event-stream-client.js';
import { PROJECT_URL, TestServer } from '../../src/server/testing/test-server.js';

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
const listenerCount = async (testServer: TestServer): Promise<string> =>
  /feed_listeners (\d+)/.exec((await testServer.get('/metrics')).body)?.[1] ?? '';

it('ends the streams that are queued on a connection when it closes', async () => {
  const testServer = await TestServer.forTest();
  await testServer.putPlan('A-001-x');
  const stream = get(`${PROJECT_URL}/events/stream`);
  const socket = connect(testServer.running.port, '127.0.0.1', () => socket.write(stream.repeat(3)));
  await expect.poll(() => listenerCount(testServer), { timeout: 60_000 }).toBe('3');
  socket.destroy();
  await expect.poll(() => listenerCount(testServer), { timeout: 60_000 }).toBe('0');
});

it('closes a connection with too many requests in progress', async () => {
  const testServer = await TestServer.forTest();
  await testServer.putPlan('A-001-x');
  const socket = connect(testServer.running.port, '127.0.0.1', () =>
    socket.write(get(`${PROJECT_URL}/events/stream`).repeat(20)),
  );
  socket.on('error', () => {});
  await new Promise((resolve) => socket.once('close', resolve));
  await expect.poll(() => listenerCount(testServer), { timeout: 60_000 }).toBe('0');
  expect((await testServer.get('/metrics')).body).toContain(
    'connections_dropped_total{reason="pipelining"} 1',
  );
});

it('streams every event of a log that needs several pages because of its size', async () => {
  const testServer = await TestServer.forTest();
  const ids = Array.from({ length: 90 }, (_, index) => `A-${String(index + 1).padStart(3, '0')}-x`);
  await testServer.putPlan(...ids);
  const result_data = 'x'.repeat(60_000);
  for (const id of ids)
    await testServer.post(`${PROJECT_URL}/results`, { ...(await testServer.claim(id)), result_data });
  const { position } = (await testServer.get(`${PROJECT_URL}/status`)).body;
  const reader = EventStreamClient.open(testServer.running.port, `${PROJECT_URL}/events/stream`);
  await reader.waitUntil(() => reader.positions.at(-1) === position);
  expect(reader.positions).toEqual(Array.from({ length: position }, (_, index) => index + 1));
  reader.disconnect();
});
