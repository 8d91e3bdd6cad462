import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { PROJECT_URL, TENANT_URL, TestServer } from './testing/test-server.js';

/** Statements of the wire contract that involve several components. */

const TASKS = [1, 2].map((taskNumber) => ({
  id: `A-00${taskNumber}-x`,
  description: 'x',
  depends_on: [],
}));

async function withPlan(options: Parameters<typeof TestServer.forTest>[0] = {}): Promise<TestServer> {
  const testServer = await TestServer.forTest(options);
  await testServer.request('PUT', `${PROJECT_URL}/plan`, { tracks: { A: TASKS } });
  return testServer;
}

describe('a refused result', () => {
  test('can be read like any other result', async () => {
    const testServer = await withPlan();
    const handle = await testServer.claim('A-001-x');
    await testServer.post(`${PROJECT_URL}/results`, { ...handle, result_data: { first: true } });
    const late = await testServer.post(`${PROJECT_URL}/results`, {
      ...handle,
      result_data: { second: true },
    });
    expect([late.status, late.body.reason]).toEqual([409, 'TASK_ALREADY_COMPLETED']);
    const parked = await testServer.get(`${PROJECT_URL}/tasks/A-001-x/results/${late.body.parked}`);
    expect(parked).toMatchObject({
      status: 200,
      body: {
        accepted: false,
        rejection_reason: 'TASK_ALREADY_COMPLETED',
        result_data: { second: true },
      },
    });
  });
});

describe('a body that exceeds its limit', () => {
  /** Sends everything before it reads, as most clients do. */
  function sendAllThenListen(port: number, path: string, bytes: number): Promise<string> {
    return new Promise((resolve, reject) => {
      let reply = '';
      const socket = connect(port, '127.0.0.1');
      socket.pause();
      socket.on('data', (chunk) => {
        reply += String(chunk);
      });
      socket.on('error', reject).on('close', () => resolve(reply));
      socket.write(`POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${bytes}\r\n\r\n`);
      socket.write(Buffer.alloc(bytes, 'x'), (error) => (error ? reject(error) : socket.resume()));
    });
  }

  test('gets a response even if the client reads only after sending all of it', async () => {
    const testServer = await TestServer.forTest();
    const reply = await sendAllThenListen(
      testServer.running.port,
      `${PROJECT_URL}/results`,
      32 * 1024 * 1024,
    );
    expect(reply).toMatch(/^HTTP\/1\.1 413 /);
    expect(reply).toContain('"code":"BODY_TOO_LARGE"');
  });
});

describe('a note', () => {
  test('has at most 4 KiB, counted in bytes', async () => {
    const testServer = await withPlan();
    const { task_id, ...handle } = await testServer.claim('A-001-x');
    const addNote = (text: string) =>
      testServer.post(`${PROJECT_URL}/tasks/${task_id}/notes`, { ...handle, text });
    expect((await addNote('é'.repeat(2048))).status).toBe(200);
    const reply = await addNote('é'.repeat(2049));
    expect([reply.status, reply.body.faults[0].path]).toEqual([400, 'text']);
  });
});

describe('events of an edge', () => {
  // req: EVT-006
  test('are found by every spelling of its name, and by the task_id of its claim', async () => {
    const testServer = await TestServer.forTest();
    await testServer.putPlan('A-001-x');
    const claim = { feature_id: 'REQ-F-A-001', edge: 'design_code', agent_id: 'alpha', session_id: 's1' };
    await testServer.post(`${PROJECT_URL}/claims`, claim);
    const eventTypes = async (query: Record<string, string>) => {
      const reply = await testServer.get(`${PROJECT_URL}/events?${new URLSearchParams(query)}`);
      return reply.body.events.map(({ event_type }: { event_type: string }) => event_type);
    };
    expect(await eventTypes({ edge: 'design_code' })).toEqual(['edge_started']);
    expect(await eventTypes({ edge: 'Design → Code' })).toEqual(['edge_started']);
    expect(await eventTypes({ task_id: 'REQ-F-A-001#design→code' })).toEqual(['edge_started']);
    expect(await eventTypes({ task_id: 'REQ-F-A-001#code_unit_tests' })).toEqual([]);
    expect(await eventTypes({ task_id: 'REQ-F-A-001#design_code', feature_id: 'REQ-F-B-001' })).toEqual([]);
  });
});

describe('every methodology command that writes', () => {
  test('accepts a request_id and a signature', async () => {
    const testServer = await TestServer.forTest();
    for (const path of ['init', 'spawn', 'spawn/fold_back', 'checkpoint', 'review', 'gaps', 'release']) {
      const body = { project_id: 'shop', request_id: 'r1', signature: 'v1;x;y' };
      const reply = await testServer.post(`/api/${path}`, body);
      expect([path, JSON.stringify(reply.body)]).not.toEqual([path, expect.stringContaining('signature')]);
    }
  });
});

describe('GET /api/status', () => {
  test('has the fields that compatible tools read: project, features by id, signals, health', async () => {
    const testServer = await TestServer.forTest();
    const project_id = 'shop';
    await testServer.post('/api/init', { project_id });
    const spawn = {
      project_id,
      vector_type: 'feature',
      feature_id: 'REQ-F-A-001',
      title: 'A',
      reason: 'why',
    };
    await testServer.post('/api/spawn', spawn);
    const health = { streams_lag_ms: 0, pending_reviews: 0, stale_claims: 0 };
    const { body } = await testServer.get('/api/status?project_id=shop');
    expect(body).toMatchObject({
      project: { edges_completed: 0, edges_remaining: 4, active_features: 1 },
      features: [{ id: 'REQ-F-A-001', current_edge: 'intent_requirements', iteration: 0 }],
      signals: [],
      health,
    });
    expect((await testServer.get('/api/status?project_id=shop&health=true')).body).toMatchObject({ health });
    const { events } = (await testServer.get('/api/tenants/default/projects/shop/events?type=spawn_created'))
      .body;
    expect(events[0].payload).toMatchObject({ child: 'REQ-F-A-001', title: 'A', reason: 'why' });
  });
});

describe('limits', () => {
  const readLimits = async (testServer: TestServer, authorization: Record<string, string> = {}) =>
    (await testServer.request('GET', `${TENANT_URL}/limits`, undefined, authorization)).body;

  test('are the enterprise limits in open mode, and the default limits once a key exists', async () => {
    const testServer = await TestServer.forTest();
    expect(await readLimits(testServer)).toMatchObject({
      max_concurrent_claims: 1000,
      max_active_sessions: 500,
    });
    const { token } = (await testServer.post(`${TENANT_URL}/keys`, { role: 'admin' })).body;
    await testServer.restart();
    expect(await readLimits(testServer, { authorization: `Bearer ${token}` })).toMatchObject({
      max_concurrent_claims: 100,
      max_lease_duration_seconds: 3600,
      max_result_size_bytes: 10 * 1024 * 1024,
      max_active_sessions: 50,
    });
  });
});

describe('a malformed request', () => {
  test('is refused with the field and the expected value', async () => {
    const testServer = await withPlan();
    const missing = await testServer.post(`${PROJECT_URL}/tasks`, {});
    expect(missing.body).toMatchObject({
      code: 'INVALID_REQUEST',
      faults: [{ path: 'tasks', message: expect.stringContaining('a list of tasks') }],
    });
    const query = await testServer.get(`${PROJECT_URL}/tasks?bogus=1`);
    expect(query.body.detail).toBe('query: Unrecognized key: "bogus"');
    const plan = await testServer.request('PUT', `${PROJECT_URL}/plan`, {
      tracks: { A: [{ id: 'B-001-x', description: 'x' }] },
    });
    expect(plan.body.detail).toMatch(/[^.]\. Nothing was changed\.$/);
  });

  test('in a batch of claims is refused with the index of the claim', async () => {
    const testServer = await withPlan();
    const claim = (task_id: string) => ({ task_id, agent_id: 'alpha', session_id: 's1' });
    const atomic = { mode: 'all_or_nothing', claims: [claim('A-001-x'), claim('nothing')] };
    const reply = await testServer.post(`${PROJECT_URL}/claims/batch`, atomic);
    expect([reply.status, reply.body.faults[0].path]).toEqual([400, 'claims.1.task_id']);
  });
});
