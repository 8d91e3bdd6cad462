import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { SigningRunner } from '../../test/support/signing-runner.js';
import type { EventEnvelope } from '../core/contract/events.js';
import { OPERATION_LIST } from '../core/contract/operations.js';
import { ROUTES } from './routes.js';
import {
  type AnyJson,
  PROJECT_URL,
  TENANT_URL,
  type TestResponse,
  TestServer,
} from './testing/test-server.js';

let testServer: TestServer;
beforeAll(async () => {
  testServer = await TestServer.start();
});
afterAll(() => testServer.remove());

const renewalBody = ({ generation, ...handle }: Awaited<ReturnType<TestServer['claim']>>) => ({
  ...handle,
  expected_generation: generation,
});
const claimFields = (task_id: string, session_id = 's1') => ({ task_id, agent_id: 'alpha', session_id });

describe('a plan', () => {
  const yaml = 'project: shop\ntracks:\n  A:\n    - id: A-001-x\n      description: first\n';

  test('is put as YAML, read with its version as ETag, and replaced only if the version matches', async () => {
    const put = await testServer.request('PUT', `${PROJECT_URL}/plan`, yaml, {
      'content-type': 'application/yaml',
    });
    expect([put.status, put.headers.get('etag')]).toEqual([200, '"1"']);
    const got = await testServer.get(`${PROJECT_URL}/plan`);
    expect([got.headers.get('etag'), got.body.plan.tracks.A[0].id]).toEqual(['"1"', 'A-001-x']);
    const stale = await testServer.request(
      'PUT',
      `${PROJECT_URL}/plan`,
      { tracks: {} },
      { 'if-match': '"7"' },
    );
    expect([stale.status, stale.body.code]).toEqual([412, 'PLAN_CHANGED']);
    const malformed = await testServer.request(
      'PUT',
      `${PROJECT_URL}/plan`,
      { tracks: {} },
      { 'if-match': 'x' },
    );
    expect([malformed.status, malformed.body.code]).toEqual([400, 'INVALID_REQUEST']);
    const tracks = { A: [{ id: 'A-001-x', description: 'changed' }] };
    const changed = await testServer.request(
      'PUT',
      `${PROJECT_URL}/plan`,
      { tracks, request_id: 'p1' },
      { 'if-match': '"1"' },
    );
    expect([changed.status, changed.body.version, changed.headers.get('etag')]).toEqual([200, 2, '"2"']);
    const again = await testServer.request(
      'PUT',
      `${PROJECT_URL}/plan`,
      { tracks, request_id: 'p1' },
      { 'if-match': '"1"' },
    );
    expect(again.body).toEqual(changed.body);
  });

  test('with faults is refused with the position of each, and changes nothing', async () => {
    const wrong = yaml.replace('A-001-x', 'a-1');
    const reply = await testServer.request('PUT', `${PROJECT_URL}/plan`, wrong, {
      'content-type': 'text/yaml',
    });
    expect([reply.status, reply.body.code]).toEqual([400, 'INVALID_PLAN']);
    expect(reply.body.faults[0]).toMatchObject({ code: 'BAD_ID', line: 4 });
  });

  test('can be extended by tasks and subtasks', async () => {
    const ids = [
      'A-002-x',
      'A-003-x',
      'A-004-x',
      'B-001-x',
      'B-002-x',
      'B-003-x',
      'C-001-x',
      'C-002-x',
      'C-003-x',
    ];
    const tasks = ids.map((id) => ({ id, description: id, depends_on: [] }));
    const split = { id: 'D-001-x', description: 'split', subtasks: 2 };
    const reply = await testServer.post(`${PROJECT_URL}/tasks`, {
      tasks: [...tasks, split],
      request_id: 't1',
    });
    expect([reply.status, reply.body.added]).toEqual([200, 10]);
    expect((await testServer.post(`${PROJECT_URL}/tasks`, { tasks: {} })).body.code).toBe('INVALID_PLAN');
    const unknown = await testServer.post(`${PROJECT_URL}/tasks`, { task: [] });
    expect([unknown.status, unknown.body.code]).toEqual([400, 'INVALID_REQUEST']);
  });
});

describe('work', () => {
  test('is claimed, renewed, noted and submitted, and the task shows its result', async () => {
    const handle = await testServer.claim('A-001-x');
    expect(await testServer.post(`${PROJECT_URL}/claims/renew`, renewalBody(handle))).toMatchObject({
      status: 200,
      body: { success: true, reason: 'RENEWED' },
    });
    const { task_id: _, ...claimProof } = handle;
    const note = await testServer.post(`${PROJECT_URL}/tasks/A-001-x/notes`, {
      ...claimProof,
      text: 'half of it',
    });
    expect(note).toMatchObject({ status: 200, body: { reason: 'NOTED' } });
    const other = await testServer.post(`${PROJECT_URL}/tasks/A-002-x/notes`, { ...handle, text: 'x' });
    expect([other.status, other.body.faults[0].path]).toEqual([400, 'task_id']);
    const submitted = await testServer.post(`${PROJECT_URL}/results`, {
      ...handle,
      result_data: { done: true },
    });
    expect(submitted).toMatchObject({ status: 200, body: { accepted: true, reason: 'ACCEPTED' } });
    const state = await testServer.get(`${PROJECT_URL}/tasks/A-001-x`);
    expect(state.body).toMatchObject({ phase: 'COMPLETED', readiness: 'completed', generation: 1 });
    const { result_id } = state.body.result;
    expect((await testServer.get(`${PROJECT_URL}/tasks/A-001-x/results`)).body.results).toHaveLength(1);
    const result = await testServer.get(`${PROJECT_URL}/tasks/A-001-x/results/${result_id}`);
    expect(result.body).toMatchObject({ accepted: true, result_data: { done: true } });
    const history = await testServer.get(`${PROJECT_URL}/tasks/A-001-x/history`);
    expect(history.body.generations).toMatchObject([{ generation: 1, release_reason: 'COMPLETED' }]);
    expect((await testServer.get(`${PROJECT_URL}/tasks/A-001-x/explain`)).body).toMatchObject({
      claimable: false,
    });
  });

  test('in a batch is answered in order, each item independently or all or nothing', async () => {
    const claims = [claimFields('A-002-x'), claimFields('Q-009-none'), claimFields('A-003-x')];
    const reply = await testServer.post(`${PROJECT_URL}/claims/batch`, { claims });
    expect(reply.status).toBe(200);
    const reasons = reply.body.results.map((result: { reason: string }) => result.reason);
    expect(reasons).toEqual(['GRANTED', 'UNKNOWN_TASK', 'GRANTED']);
    const atomic = {
      claims: [claimFields('A-002-x', 's2'), claimFields('A-004-x', 's2')],
      mode: 'all_or_nothing',
    };
    const none = await testServer.post(`${PROJECT_URL}/claims/batch`, atomic);
    expect(none.body.results.map((result: { success: boolean }) => result.success)).toEqual([false, false]);

    const handles = [reply.body.results[0].claim, reply.body.results[2].claim].map(
      ({ task_id, session_id, generation, id }) => ({ task_id, session_id, generation, claim_id: id }),
    );
    const renewed = await testServer.post(`${PROJECT_URL}/claims/renew/batch`, {
      items: [...handles.map(renewalBody), {}],
    });
    expect(renewed.body.results).toMatchObject([
      { reason: 'RENEWED' },
      { reason: 'RENEWED' },
      { status: 400, code: 'INVALID_REQUEST' },
    ]);
    const [first, second] = handles as [(typeof handles)[0], (typeof handles)[0]];
    const released = await testServer.post(`${PROJECT_URL}/claims/release/batch`, {
      items: [renewalBody(first)],
    });
    expect(released.body.results).toMatchObject([{ reason: 'RELEASED' }]);
    const submitted = await testServer.post(`${PROJECT_URL}/results/batch`, {
      items: [
        { ...second, result_data: 1 },
        { ...first, result_data: 1 },
      ],
    });
    expect(submitted.body.results[0]).toMatchObject({ accepted: true });
    expect(submitted.body.results[1].accepted).toBe(false);
  });

  test('is released, and claimed by next, which returns a briefing or a refusal', async () => {
    const handle = await testServer.claim('A-004-x');
    const released = await testServer.post(`${PROJECT_URL}/claims/release`, {
      ...renewalBody(handle),
      reason: 'VOLUNTARY',
    });
    expect(released).toMatchObject({ status: 200, body: { success: true, reason: 'RELEASED' } });
    const next = await testServer.post(`${PROJECT_URL}/next`, {
      agent_id: 'beta',
      session_id: 's3',
      track: 'A',
    });
    expect(next.status).toBe(200);
    expect(next.body).toMatchObject({ success: true, briefing: { handle: { session_id: 's3' } } });
    await testServer.post(`${PROJECT_URL}/next`, { agent_id: 'beta', session_id: 's3', track: 'A' });
    const none = await testServer.post(`${PROJECT_URL}/next`, {
      agent_id: 'beta',
      session_id: 's3',
      track: 'A',
    });
    expect([none.status, none.body.reason]).toEqual([409, 'NOTHING_READY']);
  });

  test('is suspended until a person decides, then reviewed and resumed', async () => {
    const handle = await testServer.claim('B-001-x');
    const candidate_sha256 = 'a'.repeat(64);
    const suspended = await testServer.post(`${PROJECT_URL}/claims/suspend`, {
      ...renewalBody(handle),
      iteration: 1,
      candidate_sha256,
    });
    expect(suspended).toMatchObject({ status: 200, body: { reason: 'SUSPENDED' } });
    const review = { task_id: 'B-001-x', generation: 1, iteration: 1, candidate_sha256 };
    const stale = await testServer.post(`${PROJECT_URL}/reviews`, {
      ...review,
      iteration: 2,
      decision: 'APPROVED',
    });
    expect([stale.status, stale.body.reason]).toEqual([409, 'STALE_REVIEW']);
    const created = await testServer.request(
      'POST',
      '/api/review/link',
      { project_id: 'shop', task_id: 'B-001-x', reviewer: 'rita' },
      { 'x-genesis-tenant': 'acme' },
    );
    expect(created).toMatchObject({ status: 200, body: { candidate_sha256, reviewer: 'link:rita' } });
    expect((await testServer.get(created.body.path)).status).toBe(200);
    expect((await testServer.request('POST', '/reviews/link', 'token=none')).status).toBe(404);
    const decided = await testServer.post(`${PROJECT_URL}/reviews`, {
      ...review,
      decision: 'CHANGES_REQUESTED',
    });
    expect(decided).toMatchObject({ status: 200, body: { reason: 'CHANGES_REQUESTED' } });
    const resumed = await testServer.post(`${PROJECT_URL}/claims/resume`, renewalBody(handle));
    expect(resumed).toMatchObject({ status: 200, body: { reason: 'RESUMED' } });
  });

  test('with a large result is submitted by blob', async () => {
    const bytes = Buffer.from(JSON.stringify({ large: 'x'.repeat(2 * 1024 * 1024) }));
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const put = await testServer.request('PUT', `${PROJECT_URL}/blobs/${sha256}`, bytes);
    expect(put).toMatchObject({ status: 200, body: { sha256, size_bytes: bytes.length } });
    const got = await fetch(`${testServer.url}${PROJECT_URL}/blobs/${sha256}`);
    expect(Buffer.from(await got.arrayBuffer()).equals(bytes)).toBe(true);
    expect((await testServer.get(`${PROJECT_URL}/blobs/${sha256}`)).headers.get('content-type')).toBe(
      'application/octet-stream',
    );
    const handle = await testServer.claim('B-002-x');
    const missing = await testServer.post(`${PROJECT_URL}/results`, {
      ...handle,
      blob_sha256: '0'.repeat(64),
    });
    expect([missing.status, missing.body.code]).toEqual([404, 'BLOB_MISSING']);
    const reply = await testServer.post(`${PROJECT_URL}/results`, { ...handle, blob_sha256: sha256 });
    expect(reply.body.accepted).toBe(true);
    const wrong = await testServer.request('PUT', `${PROJECT_URL}/blobs/${'0'.repeat(64)}`, bytes);
    expect([wrong.status, wrong.body.code]).toEqual([400, 'INVALID_REQUEST']);
    expect((await testServer.get(`${PROJECT_URL}/blobs/${'1'.repeat(64)}`)).status).toBe(404);
  });

  test('is released by force, reassigned, put on hold, adopted and reset by operators', async () => {
    const operate = (verb: string, task: string, expected_generation: number, more = {}) =>
      testServer.post(`${PROJECT_URL}/tasks/${task}/${verb}`, {
        expected_generation,
        reason: 'because',
        ...more,
      });
    await testServer.claim('C-001-x');
    expect((await operate('force_release', 'C-001-x', 7)).status).toBe(409);
    expect(await operate('force_release', 'C-001-x', 1)).toMatchObject({
      status: 200,
      body: { reason: 'FORCED' },
    });
    expect(await operate('hold', 'C-001-x', 1)).toMatchObject({ status: 200, body: { readiness: 'held' } });
    const refused = await testServer.post(`${PROJECT_URL}/claims`, claimFields('C-001-x'));
    expect(refused).toMatchObject({ status: 409, body: { reason: 'DENIED_HELD', hold_reason: 'because' } });
    expect(await operate('unhold', 'C-001-x', 1)).toMatchObject({
      status: 200,
      body: { readiness: 'ready' },
    });

    const oldHandle = await testServer.claim('C-002-x');
    const newHolder = { agent_id: 'gamma', session_id: 's9' };
    const reassigned = await operate('reassign', 'C-002-x', 1, newHolder);
    expect(reassigned).toMatchObject({ status: 200, body: { generation: 2, claim: newHolder } });
    const late = await testServer.post(`${PROJECT_URL}/results`, { ...oldHandle, result_data: 'late' });
    expect(late).toMatchObject({ status: 409, body: { reason: 'STALE_GENERATION', work_lost: true } });
    const adopted = await operate('adopt', 'C-002-x', 2, { result_id: late.body.parked });
    expect(adopted).toMatchObject({ status: 200, body: { phase: 'COMPLETED' } });
    const reset = await operate('reset', 'C-002-x', adopted.body.generation);
    expect(reset).toMatchObject({ status: 200, body: { phase: 'OPEN' } });
    expect((await operate('vanish', 'C-002-x', 1)).status).toBe(404);
  });
});

describe('queries and settings', () => {
  test('audit requests before the first checkpoint get NOT_FOUND, and an invalid position is refused', async () => {
    for (const path of ['head', 'proof?position=1', 'consistency?from=1'])
      expect((await testServer.get(`${PROJECT_URL}/audit/${path}`)).body).toMatchObject({
        code: 'NOT_FOUND',
      });
    expect((await testServer.get(`${PROJECT_URL}/audit/proof?position=0`)).status).toBe(400);
  });

  test('lists no audit keys before a key has signed, and refuses to change a key', async () => {
    expect((await testServer.get(`${PROJECT_URL}/audit/keys`)).body).toEqual({ keys: [] });
    const body = { key_id: '0123456789abcdef', reason: 'lost' };
    const replaced = await testServer.post(`${PROJECT_URL}/audit/keys/replace`, body);
    expect(replaced).toMatchObject({ status: 409, body: { success: false, reason: 'NO_AUDIT_KEY' } });
    const revoked = await testServer.post(`${PROJECT_URL}/audit/keys/revoke`, body);
    expect(revoked).toMatchObject({ status: 404, body: { success: false, reason: 'UNKNOWN_AUDIT_KEY' } });
    expect(
      (await testServer.post(`${PROJECT_URL}/audit/keys/revoke`, { key_id: 'x', reason: 'y' })).status,
    ).toBe(400);
  });

  test('runners are enrolled, listed and revoked; candidates and evidence are refused with a status', async () => {
    const runner = new SigningRunner();
    const { public_key, runner_id } = runner;
    const enrolled = await testServer.post(`${PROJECT_URL}/runners`, { public_key, label: 'build host' });
    expect(enrolled.body).toMatchObject({ runner_id, state: 'enrolled', label: 'build host' });
    const weak = await testServer.post(`${PROJECT_URL}/runners`, { public_key: 'AQ' });
    expect([weak.status, weak.body.code]).toEqual([400, 'INVALID_REQUEST']);
    const listed = await testServer.get(`${PROJECT_URL}/runners`);
    expect(listed.body.runners).toEqual([enrolled.body]);
    const candidate = { task_id: 'F#design_code', session_id: 's1', expected_generation: 1 };
    const absent = await testServer.post(`${PROJECT_URL}/candidates`, {
      ...candidate,
      claim_id: 'clm_x',
      candidate_sha256: '0'.repeat(64),
    });
    expect([absent.status, absent.body.code]).toEqual([404, 'BLOB_MISSING']);
    expect((await testServer.get(`${PROJECT_URL}/candidates`)).body).toEqual({ candidates: [], next: null });
    const evidence = runner.signed(runner.statement({ task_id: 'F#design_code' }));
    const early = await testServer.post(`${PROJECT_URL}/evidence`, { evidence });
    expect([early.status, early.body.reason]).toEqual([409, 'NO_CANDIDATE']);
    const revoked = await testServer.request('DELETE', `${PROJECT_URL}/runners/${runner_id}`);
    expect(revoked.body).toMatchObject({ state: 'revoked' });
    const unknown = await testServer.request('DELETE', `${PROJECT_URL}/runners/rnr_x`);
    expect([unknown.status, unknown.body.code]).toEqual([404, 'NOT_FOUND']);
  });

  test('tasks are listed in pages, filtered, and fetched by id', async () => {
    const page = await testServer.get(`${PROJECT_URL}/tasks?limit=2&phase=OPEN`);
    expect(page.body.tasks).toHaveLength(2);
    const nextPage = await testServer.get(`${PROJECT_URL}/tasks?phase=OPEN&after=${page.body.next}`);
    expect(nextPage.body.tasks[0].task_id > page.body.tasks[1].task_id).toBe(true);
    const inTrack = await testServer.get(`${PROJECT_URL}/tasks?track=D&readiness=ready`);
    expect(inTrack.body.tasks.map((task: { task_id: string }) => task.task_id)).toEqual([
      'D-001-x::1',
      'D-001-x::2',
    ]);
    const fetched = await testServer.post(`${PROJECT_URL}/tasks/batch_get`, {
      task_ids: ['A-001-x', 'Q-001-none'],
    });
    expect(fetched.body.tasks).toMatchObject([{ task_id: 'A-001-x' }, { status: 404, code: 'NOT_FOUND' }]);
    expect((await testServer.get(`${PROJECT_URL}/tasks/D-001-x%3A%3A1`)).body.task_id).toBe('D-001-x::1');
    for (const query of ['limit=0', 'limit=x', 'readiness=soon', 'colour=red']) {
      expect((await testServer.get(`${PROJECT_URL}/tasks?${query}`)).status).toBe(400);
    }
  });

  test('status and agents are read now and at a position, and the projects of a tenant are listed', async () => {
    const now = await testServer.get(`${PROJECT_URL}/status`);
    const atFirst = await testServer.get(`${PROJECT_URL}/status?at=1`);
    expect(atFirst.body).toMatchObject({ position: 1, total: { completed: 0, pending: 1 } });
    expect(now.body.position).toBeGreaterThan(20);
    expect((await testServer.get(`${PROJECT_URL}/agents`)).body.agents.length).toBeGreaterThan(0);
    expect((await testServer.get(`${PROJECT_URL}/agents?at=1`)).body).toMatchObject({
      agents: [],
      position: 1,
    });
    expect((await testServer.get(`${PROJECT_URL}/status?at=yesterday`)).status).toBe(400);
    const { projects } = (await testServer.get(`${TENANT_URL}/projects`)).body;
    expect(projects).toMatchObject([{ project_id: 'shop', position: now.body.position }]);
    expect((await testServer.get('/api/tenants/nobody/projects')).body).toEqual({ projects: [], next: null });
  });

  test('every view either accepts a position or refuses it with 400', async () => {
    const views = OPERATION_LIST.filter(({ method, action }) => method === 'GET' && action === 'read');
    const takesPosition = views.filter(({ query }) => query instanceof z.ZodObject && 'at' in query.shape);
    expect(takesPosition.map(({ id }) => id).sort()).toEqual([
      'agents',
      'get_claim_history',
      'get_plan',
      'get_result',
      'get_task_state',
      'known_gaps',
      'list_expired_claims',
      'list_results',
      'list_tasks',
      'methodology_status',
      'status',
      'trace',
      'zoom',
    ]);
    for (const { id, path } of views.filter((each) => !takesPosition.includes(each))) {
      const url = path
        .replace('{tenant_id}', 'acme')
        .replace('{project_id}', 'shop')
        .replace(/\{\w+\}/g, 'A-001-x');
      const reply = await testServer.get(`${url}?at=1&project_id=shop`);
      expect([id, reply.status, reply.body.detail]).toEqual([
        id,
        400,
        expect.stringMatching(/^at: .*present/),
      ]);
    }
    expect((await testServer.get(`${PROJECT_URL}/tasks/A-001-x?at=1`)).body).toMatchObject({ generation: 0 });
    expect((await testServer.get(`${PROJECT_URL}/plan?at=1`)).body).toMatchObject({ version: 1 });
    expect((await testServer.get(`${PROJECT_URL}/tasks?at=1000001`)).status).toBe(409);
    expect((await testServer.get(`${PROJECT_URL}/tasks?at=-1`)).status).toBe(400);
  });

  test('has routes for runs, which runs.test.ts tests in detail', async () => {
    const run = '/api/runs/0199c1de-0000-7000-8000-000000000001';
    for (const path of ['/api/runs', '/api/spent', run])
      expect([path, (await testServer.get(`${path}?project_id=none`)).status]).toEqual([path, 404]);
    for (const [path, more] of [
      ['/api/iterate', { feature_id: 'F', edge: 'design_code' }],
      [`${run}/cancel`, {}],
    ] as const)
      expect([path, (await testServer.post(path, { project_id: 'none', ...more })).status]).toEqual([
        path,
        404,
      ]);
  });

  test('the list of expired claims is empty, and invalid queries are refused', async () => {
    const reply = await testServer.get(`${PROJECT_URL}/claims/expired`);
    expect(reply).toMatchObject({ status: 200, body: { claims: [], next: null } });
    for (const query of ['before=yesterday', 'limit=0', 'colour=red'])
      expect((await testServer.get(`${PROJECT_URL}/claims/expired?${query}`)).status).toBe(400);
  });

  test('events of an agent are listed across the projects of the tenant', async () => {
    const other = `${TENANT_URL}/projects/second`;
    const plan = { tracks: { A: [{ id: 'A-001-x', description: 'x' }] } };
    await testServer.request('PUT', `${other}/plan`, plan);
    const claim = { task_id: 'A-001-x', agent_id: 'traveller', session_id: 's-travel' };
    await testServer.post(`${other}/claims`, claim);
    await testServer.post(`${PROJECT_URL}/claims`, claim);
    const url = `${TENANT_URL}/events?agent_id=traveller`;
    const whole = (await testServer.get(url)).body;
    const eventKeyOf = ({ project_id, position, agent_id }: EventEnvelope) => [
      project_id,
      position,
      agent_id,
    ];
    expect(new Set(whole.events.map((each: EventEnvelope) => each.project_id))).toEqual(
      new Set(['second', 'shop']),
    );
    const parts: EventEnvelope[] = [];
    let after: string | null = '';
    while (after !== null) {
      const cursor: string = after === '' ? '' : `&after=${encodeURIComponent(after)}`;
      const page: AnyJson = (await testServer.get(`${url}&limit=1${cursor}`)).body;
      parts.push(...page.events);
      after = page.next;
    }
    expect(parts.map(eventKeyOf)).toEqual(whole.events.map(eventKeyOf));
    expect(parts.every(({ agent_id }) => agent_id === 'traveller')).toBe(true);
    for (const query of ['', '?agent_id=traveller&after=x', '?agent_id=traveller&limit=1001'])
      expect((await testServer.get(`${TENANT_URL}/events${query}`)).status).toBe(400);
    expect((await testServer.get('/api/tenants/nobody/events?agent_id=traveller')).body).toEqual({
      events: [],
      next: null,
    });
  });

  test('sessions are opened, listed, read and closed with their claims', async () => {
    const session = { session_id: 's-open', user_id: 'ann', project_id: 'shop' };
    expect(await testServer.post(`${TENANT_URL}/sessions`, session)).toMatchObject({
      status: 200,
      body: { reason: 'OPENED' },
    });
    await testServer.claim('C-003-x', 's-open');
    expect((await testServer.get(`${TENANT_URL}/sessions/s-open/claims`)).body.claims).toMatchObject([
      { task_id: 'C-003-x' },
    ]);
    expect((await testServer.get(`${TENANT_URL}/sessions`)).body.sessions.length).toBeGreaterThan(1);
    expect((await testServer.get(`${TENANT_URL}/sessions/s-open`)).body).toMatchObject({ user_id: 'ann' });
    const closed = await testServer.request('DELETE', `${TENANT_URL}/sessions/s-open`);
    expect(closed).toMatchObject({ status: 200, body: { reason: 'CLOSED' } });
    expect((await testServer.get(`${TENANT_URL}/sessions/s-open/claims`)).body.claims).toEqual([]);
    expect((await testServer.get(`${TENANT_URL}/sessions/s-none`)).status).toBe(404);
    expect((await testServer.request('DELETE', `${TENANT_URL}/sessions/s-none`)).status).toBe(404);
  });

  test('limits and policy are read and changed, and omitted fields keep their values', async () => {
    const before = (await testServer.get(`${TENANT_URL}/limits`)).body;
    expect(before.max_concurrent_claims).toBe(1000);
    const limits = await testServer.request('PUT', `${TENANT_URL}/limits`, { max_generations_per_task: 7 });
    expect(limits.body).toEqual({ ...before, max_generations_per_task: 7 });
    expect((await testServer.get(`${PROJECT_URL}/policy`)).body.max_attempts).toBe(10);
    const policy = await testServer.request('PUT', `${PROJECT_URL}/policy`, { max_attempts: 3 });
    expect([policy.status, policy.body.max_attempts]).toEqual([200, 3]);
    expect((await testServer.request('PUT', `${PROJECT_URL}/policy`, { max_attempts: 0 })).status).toBe(400);
  });

  test('a methodology event is appended, on claimed work only by the holder', async () => {
    const event = {
      event_type: 'iteration_completed',
      agent_id: 'alpha',
      payload: { iteration: 1, status: 'iterating' },
    };
    const edge = { feature_id: 'REQ-F-AUTH-001', edge: 'design_code' };
    const reply = await testServer.post(`${PROJECT_URL}/events`, { ...event, ...edge });
    expect(reply).toMatchObject({ status: 200, body: { reason: 'APPENDED' } });
    const events = (await testServer.get(`${PROJECT_URL}/events?feature_id=REQ-F-AUTH-001`)).body.events;
    const recent = await testServer.get(`${PROJECT_URL}/events/recent?feature_id=REQ-F-AUTH-001&limit=1`);
    expect(recent.body.events).toEqual(events.slice(-1));
    expect(events).toMatchObject([{ event_id: reply.body.event_id, edge: 'design_code' }]);
    await testServer.claim('C-001-x');
    const notHolder = await testServer.post(`${PROJECT_URL}/events`, {
      ...event,
      task_id: 'C-001-x',
      session_id: 's7',
      generation: 1,
    });
    expect([notHolder.status, notHolder.body.success]).toEqual([409, false]);
    expect(
      (await testServer.post(`${PROJECT_URL}/events`, { ...event, event_type: 'TASK_CLAIMED' })).status,
    ).toBe(400);
  });

  test('events of other tools are imported once, of any type, and change no head', async () => {
    const event = {
      event_id: '0d3e6a52-6d0b-8d5e-9a55-8c1f6b7d2c11',
      event_type: 'moon_phase',
      timestamp: '2025-12-01T10:00:00.000Z',
      agent_id: 'primary',
      payload: { phase: 'full', imported: { source: 'old.jsonl', line: 1 } },
    };
    const url = `${PROJECT_URL}/events/import`;
    expect((await testServer.post(url, { events: [event] })).body).toEqual({ written: 1, already_there: 0 });
    expect((await testServer.post(url, { events: [event] })).body).toEqual({ written: 0, already_there: 1 });
    const found = await testServer.get(`${PROJECT_URL}/events?type=moon_phase`);
    expect(found.body.events).toMatchObject([event]);
    const future = {
      ...event,
      event_id: '0d3e6a52-6d0b-8d5e-9a55-8c1f6b7d2c12',
      timestamp: '2999-01-01T00:00:00.000Z',
    };
    await testServer.post(url, { events: [{ ...future, event_type: 'moon_to_come' }] });
    const [imported] = (await testServer.get(`${PROJECT_URL}/events?type=moon_to_come`)).body.events;
    expect(imported.timestamp < future.timestamp).toBe(true);
    for (const wrong of [
      { ...event, subject: 'A-001-x', seq: 1 },
      { ...event, payload: {} },
      { ...event, event_id: 'none' },
      { ...event, event_type: 'edge_claim' },
      { ...event, agent_id: 'two words' },
      { ...event, payload: { ...event.payload, long: 'x'.repeat(100_000) } },
    ]) {
      const reply = await testServer.post(url, { events: [wrong] });
      expect([reply.status, reply.body.code]).toEqual([400, 'INVALID_EVENT']);
    }
  });

  test('a log is verified in a thread, one at a time', async () => {
    const verify = () => testServer.post(`${PROJECT_URL}/audit/verify`, {});
    const replies = await Promise.all([verify(), verify()]);
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 503]);
    const { body } = replies.find(({ status }) => status === 200) as TestResponse;
    const { position } = (await testServer.get(`${PROJECT_URL}/status`)).body;
    expect(body).toMatchObject({ is_valid: true, breaks: [], events: position });
    const unknown = await testServer.post('/api/tenants/acme/projects/none/audit/verify', {});
    expect(unknown).toMatchObject({ status: 404, body: { code: 'UNKNOWN_PROJECT' } });
  });

  test('trusting imports requires a reason', async () => {
    const url = `${PROJECT_URL}/events/import/trust`;
    const nothing = { trusted: [], skipped: [], skipped_count: 0, more: false };
    expect((await testServer.post(url, { reason: 'checked' })).body).toEqual(nothing);
    const unexplained = await testServer.post(url, {});
    expect([unexplained.status, unexplained.body.code]).toEqual([400, 'INVALID_REQUEST']);
  });

  test('events are listed in pages, filtered, from a cursor on', async () => {
    const first = await testServer.get(`${PROJECT_URL}/events?limit=3`);
    expect(first.body.events.map((event: { position: number }) => event.position)).toEqual([1, 2, 3]);
    const second = await testServer.get(`${PROJECT_URL}/events?limit=3&after=${first.body.next}`);
    expect(second.body.events[0].position).toBe(4);
    const one = await testServer.get(`${PROJECT_URL}/events?task_id=B-002-x&since=2020-01-01T00:00:00Z`);
    expect(new Set(one.body.events.map((event: { task_id: string }) => event.task_id))).toEqual(
      new Set(['B-002-x']),
    );
    for (const query of ['after=nonsense', 'since=yesterday', 'limit=-1', 'kind=x']) {
      expect((await testServer.get(`${PROJECT_URL}/events?${query}`)).status).toBe(400);
    }
    const stream = await testServer.request('HEAD', `${PROJECT_URL}/events/stream`);
    expect(stream.headers.get('content-type')).toBe('text/event-stream');
    expect((await testServer.get(`${PROJECT_URL}/events/stream?after=nonsense`)).status).toBe(400);
  });
});

describe('the methodology', () => {
  const project_id = 'graph';
  const FEATURE = 'REQ-F-AUTH-001';
  const files = {
    [`features/active/${FEATURE}.yml`]: `feature: ${FEATURE}\ntitle: Sign in\nprofile: standard\nstatus: pending\ntrajectory: {}\n`,
    '../specification/INTENT.md': '# Sign in\n\nPeople sign in with a key.\n',
  };
  const post = (path: string, body: object) => testServer.post(path, { project_id, ...body });
  const get = (path: string, query = '') => testServer.get(`${path}?project_id=${project_id}${query}`);

  // req: QRY-006, QRY-007, QRY-008, RTE-013
  test('is configured from files, shown, and recommends the next edge', async () => {
    expect(await post('/api/start', {})).toMatchObject({ status: 404, body: { code: 'UNKNOWN_PROJECT' } });
    const empty = { tracks: {} };
    await testServer.request('PUT', `/api/tenants/default/projects/${project_id}/plan`, empty);
    expect((await post('/api/start', {})).body).toMatchObject({ state: 'UNINITIALISED', execution_id: null });
    expect((await post('/api/init', { files })).body).toMatchObject({
      reason: 'CONFIGURED',
      feature_count: 1,
    });
    expect((await post('/api/init', { files })).body).toMatchObject({ reason: 'UNCHANGED' });
    const wrong = await post('/api/init', { files: { 'graph/graph_topology.yml': 'a: [' } });
    expect([wrong.status, wrong.body.code]).toEqual([400, 'INVALID_METHODOLOGY']);
    expect((await post('/api/start', { dry_run: true })).body).toMatchObject({
      feature: FEATURE,
      iteration: 1,
    });
    expect((await get('/api/status')).body.features).toMatchObject([{ feature_id: FEATURE }]);
    expect((await get('/api/status', `&feature=${FEATURE}`)).body).toMatchObject({
      feature_id: FEATURE,
      trajectory: expect.any(Array),
    });
    expect((await get('/api/status', '&health=true')).body).toHaveProperty('findings');
    expect((await get('/api/status', '&gantt=true')).body.gantt).toContain('section');
    expect((await get('/api/status', '&feature=REQ-F-NONE')).status).toBe(404);
    expect((await get('/api/zoom', '&edge=design_code')).body).toMatchObject({
      edge: { edge: 'design_code' },
    });
    expect((await get('/api/trace', `&req=${FEATURE}`)).body).toMatchObject({
      requirement: FEATURE,
      direction: 'both',
    });
  });

  test('spawns, folds back, records checkpoints and gaps, and releases; a refusal is 409', async () => {
    const spike = {
      vector_type: 'spike',
      parent: FEATURE,
      edge: 'design_code',
      reason: 'which',
      agent_id: 'alpha',
    };
    expect((await post('/api/spawn', spike)).body).toMatchObject({ feature_id: 'REQ-F-SPIKE-001' });
    expect(await post('/api/spawn', { ...spike, parent: 'REQ-F-NONE' })).toMatchObject({
      status: 409,
      body: { success: false, reason: 'UNKNOWN_FEATURE', next: expect.any(String) },
    });
    const answer = {
      feature_id: 'REQ-F-SPIKE-001',
      fold_back_status: 'converged',
      summary: 'this',
      recommendation: 'proceed',
    };
    expect(await post('/api/spawn/fold_back', answer)).toMatchObject({
      status: 409,
      body: { reason: 'NOT_CONVERGED' },
    });
    const folded = await post('/api/spawn/fold_back', { ...answer, question_answered: true });
    expect(folded).toMatchObject({ status: 200, body: { parent: FEATURE, unblocked: 'design_code' } });
    const marked = await post('/api/checkpoint', { context_hash: 'sha256:0' });
    expect(marked.body.snapshot.feature_states).toHaveLength(2);
    const keys = [{ key: FEATURE, code: 1, tests: 0, telemetry: 0 }];
    expect((await post('/api/gaps', { layers_run: [1, 2], keys })).body).toMatchObject({ result: 'GAPS' });
    expect((await get('/api/gaps')).body).toMatchObject({
      last: { total_req_keys: 1 },
      open: [{ kind: 'intent' }],
    });
    const dry = await post('/api/release', { version: '0.1.0', dry_run: true });
    expect(dry).toMatchObject({ status: 200, body: { reason: 'READY' } });
    expect((await post('/api/release', { version: '0.1.0' })).body).toMatchObject({ reason: 'RELEASED' });
    expect(await post('/api/release', { version: '0.1.0' })).toMatchObject({
      status: 409,
      body: { reason: 'VERSION_EXISTS' },
    });
  });

  test('lists pending reviews, and records the decision', async () => {
    const projectUrl = `/api/tenants/default/projects/${project_id}`;
    const edge = { feature_id: FEATURE, edge: 'intent_requirements' };
    const { body } = await testServer.post(`${projectUrl}/claims`, {
      ...edge,
      agent_id: 'alpha',
      session_id: 's1',
    });
    const { task_id, session_id, generation, id: claim_id } = body.claim;
    const candidate_sha256 = 'c'.repeat(64);
    const gate = { task_id, session_id, claim_id, expected_generation: generation, candidate_sha256 };
    await testServer.post(`${projectUrl}/claims/suspend`, gate);
    const [review] = (await get('/api/review')).body.reviews;
    expect(review).toMatchObject({ ...edge, generation, iteration: 1, candidate_sha256, agent_id: 'alpha' });
    const decision = { ...edge, generation, iteration: 1, candidate_sha256, decision: 'refined' };
    const other = await post('/api/review', { ...decision, iteration: 2 });
    expect(other).toMatchObject({ status: 409, body: { reason: 'STALE_REVIEW' } });
    expect((await post('/api/review', decision)).body).toMatchObject({ success: true });
    expect((await get('/api/review')).body.reviews).toEqual([]);
  });

  test('refuses a decision on a proposal that does not exist', async () => {
    const proposal = { proposal_id: `prop_${'0'.repeat(24)}`, decision: 'approve' };
    expect(await post('/api/review/proposal', proposal)).toMatchObject({ status: 404 });
  });

  test('refuses bodies with extra, missing or invalid fields', async () => {
    const HOSTILE: readonly [string, unknown][] = [
      ['/api/start', { project_id: '../etc' }],
      ['/api/start', { project_id, feature: 'a#b' }],
      ['/api/start', [project_id]],
      ['/api/spawn', { project_id, vector_type: 'spike', reason: 'x' }],
      ['/api/spawn', { project_id, vector_type: 'feature', feature_id: '~policy', reason: 'x' }],
      ['/api/spawn', { project_id, vector_type: 'feature', feature_id: 'F', reason: 'a\u0000b' }],
      ['/api/spawn', { project_id, vector_type: 'feature', feature_id: 'F', reason: 'x', __proto__x: 1 }],
      ['/api/checkpoint', { project_id, context_hash: 'x'.repeat(300) }],
      ['/api/review', { project_id, feature_id: FEATURE, edge: 'design_code', decision: 'approved' }],
      ['/api/gaps', { project_id, layers_run: [4], keys: [] }],
      [
        '/api/gaps',
        { project_id, layers_run: [1], keys: [{ key: 'nope', code: 1, tests: 1, telemetry: 1 }] },
      ],
      ['/api/release', { project_id, version: 'one' }],
      ['/api/init', { project_id, files: { 'a.yml': 1 } }],
    ];
    const before = (await get('/api/status')).body.position;
    for (const [path, body] of HOSTILE) {
      const reply = await testServer.post(path, body);
      expect([path, reply.status, reply.body.code]).toEqual([path, 400, 'INVALID_REQUEST']);
    }
    expect((await testServer.get('/api/status')).status).toBe(400);
    expect((await get('/api/status', '&what=1')).status).toBe(400);
    expect((await get('/api/status')).body.position).toBe(before);
  });
});

describe('the server itself', () => {
  const DOCUMENTS = ['/', '/docs'];

  test('serves liveness, readiness, its description and its page', async () => {
    expect(await testServer.get('/healthz')).toMatchObject({ status: 200, body: { status: 'alive' } });
    expect(await testServer.get('/readyz')).toMatchObject({ status: 200, body: { status: 'ready' } });
    for (const path of ['/metrics', '/openapi.json', ...DOCUMENTS, '/page.css']) {
      const reply = await testServer.get(path);
      expect([path, reply.status]).toEqual([path, 200]);
      expect(reply.headers.get('x-content-type-options'), path).toBe('nosniff');
      expect(reply.headers.get('cross-origin-resource-policy'), path).toBe('same-origin');
      const policy = reply.headers.get('content-security-policy') ?? '';
      expect(policy, path).toContain("default-src 'none'");
      expect(policy, path).toContain("frame-ancestors 'none'");
      expect([path, /style-src [^;]*'unsafe-inline'/.test(policy)]).toEqual([path, path === '/docs']);
      expect(policy, path).not.toMatch(/script-src [^;]*'unsafe|https?:|\*/);
      if (DOCUMENTS.includes(path))
        expect(reply.headers.get('cross-origin-opener-policy'), path).toBe('same-origin');
    }
    expect(await testServer.get('/assets/unknown.js')).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND' },
    });
  });

  test('serves MCP', async () => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'a test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const listing = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta } };
    const headers = {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/list',
    };
    for (const path of ['/mcp', '/mcp/acme/shop']) {
      const reply = await testServer.request('POST', path, listing, headers);
      expect(reply).toMatchObject({ status: 200, body: { result: { tools: expect.any(Array) } } });
      expect(reply.headers.get('x-content-type-options')).toBe('nosniff');
      expect((await testServer.get(path)).status).toBe(405);
    }
  });

  test('returns the identity of the caller and the operations that it may call', async () => {
    const { body } = await testServer.get('/api/whoami');
    expect(body).toMatchObject({ name: null, role: 'operator', tenant_id: null });
    expect(body.operations).toEqual(ROUTES.map(({ id }) => id).sort());
  });

  test('creates, lists and revokes keys, and requires a key after the first is created', async () => {
    const created = await testServer.post(`${TENANT_URL}/keys`, { role: 'operator', label: 'mine' });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({ role: 'operator', tenant_id: null, state: 'active', label: 'mine' });
    expect((await testServer.get(`${TENANT_URL}/keys`)).status).toBe(401);
    const operatorHeaders = { authorization: `Bearer ${created.body.token}` };
    const agents = await testServer.request('POST', `${TENANT_URL}/keys`, { role: 'agent' }, operatorHeaders);
    const listed = await testServer.request('GET', `${TENANT_URL}/keys`, undefined, operatorHeaders);
    expect(listed.body.keys.map((key: AnyJson) => key.last_four)).toEqual([
      created.body.token.slice(-4),
      agents.body.token.slice(-4),
    ]);
    const revoked = await testServer.request(
      'DELETE',
      `${TENANT_URL}/keys/${agents.body.key_id}`,
      undefined,
      operatorHeaders,
    );
    expect(revoked.body).toMatchObject({ state: 'revoked' });
    const agentHeaders = { authorization: `Bearer ${agents.body.token}` };
    expect((await testServer.request('GET', `${PROJECT_URL}/status`, undefined, agentHeaders)).status).toBe(
      401,
    );
  });

  test('serves every route of its table, and these tests have called each', () => {
    expect(ROUTES.map(({ id }) => id).filter((id) => !testServer.calledRouteIds.has(id))).toEqual([]);
  });
});
