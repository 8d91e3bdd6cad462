import { connect } from 'node:net';
import { expect, test } from 'vitest';
import type { RunningServer } from './server.js';
import { EventStreamClient } from './testing/event-stream-client.js';
import { PROJECT_URL, TestServer } from './testing/test-server.js';

/** Resolves when a `next` call has reached the coordinator. */
function nextCallArrival({ coordinator }: RunningServer): Promise<void> {
  return new Promise((resolve) => {
    const next = coordinator.claims.next.bind(coordinator.claims);
    coordinator.claims.next = (...args) => {
      resolve();
      return next(...args);
    };
  });
}

const claimFields = (task_id: string) => ({ task_id, agent_id: 'alpha', session_id: 's1' });

test('a stop answers the accepted requests, and a restarted server has their effects', async () => {
  const testServer = await TestServer.forTest();
  const ids = Array.from({ length: 50 }, (_, index) => `A-${String(index + 1).padStart(3, '0')}-x`);
  await testServer.putPlan(...ids);
  const claims = ids.map((id) => testServer.post(`${PROJECT_URL}/claims`, claimFields(id)).catch(() => null));
  await Promise.race(claims);
  await testServer.running.stop();
  const answered = (await Promise.all(claims)).flatMap((reply) =>
    reply?.status === 200 ? [reply.body.claim] : [],
  );
  expect(answered.length).toBeGreaterThan(0);
  await testServer.restart();
  for (const { task_id, generation } of answered) {
    const { body } = await testServer.get(`${PROJECT_URL}/tasks/${task_id}`);
    expect(body).toMatchObject({ generation, readiness: 'claimed' });
  }
});

test('a stop ends streams, closes idle connections, and answers clients that wait for work', async () => {
  const testServer = await TestServer.forTest();
  await testServer.putPlan('A-001-x');
  await testServer.claim('A-001-x');
  const listener = EventStreamClient.open(testServer.running.port, `${PROJECT_URL}/events/stream`);
  await listener.waitUntil(() => listener.positions.length > 1);
  const idle = connect(testServer.running.port, '127.0.0.1');
  await new Promise((resolve) => idle.once('connect', resolve));
  const arrived = nextCallArrival(testServer.running);
  const waiting = testServer.requestOverSocket('POST', `${PROJECT_URL}/next`, {
    agent_id: 'beta',
    session_id: 's2',
    wait_seconds: 30,
  });
  await arrived;
  await testServer.running.stop();
  const reply = await waiting;
  expect([reply.status, reply.body.reason]).toEqual([409, 'NOTHING_READY']);
  await listener.waitForEnd();
  await expect(fetch(`${testServer.url}/healthz`)).rejects.toThrow();
});

test('grants no work to a client that disconnected while waiting', async () => {
  const testServer = await TestServer.forTest();
  await testServer.putPlan('A-001-x');
  const { generation, ...handle } = await testServer.claim('A-001-x');
  const arrived = nextCallArrival(testServer.running);
  const abortController = new AbortController();
  const waiting = fetch(`${testServer.url}${PROJECT_URL}/next`, {
    method: 'POST',
    body: JSON.stringify({ agent_id: 'beta', session_id: 's2', wait_seconds: 30 }),
    signal: abortController.signal,
  }).catch(() => 'gone');
  await arrived;
  abortController.abort();
  expect(await waiting).toBe('gone');
  await testServer.requestOverSocket('GET', '/healthz');
  await testServer.post(`${PROJECT_URL}/claims/release`, { ...handle, expected_generation: generation });
  const state = await testServer.get(`${PROJECT_URL}/tasks/A-001-x`);
  expect(state.body).toMatchObject({ readiness: 'ready', generation: 1 });
});
