import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import {
  A,
  BODY_ENDPOINTS,
  HASH,
  handle,
  MEGABYTE,
  nested,
  operator,
  PROTO,
  result,
  wrongBodies,
} from '../../../test/support/bad-bodies.js';
import {
  type CoordinatorHarness,
  forEachStore,
  PROJECT_KEY,
  planOf,
} from '../../../test/support/coordinator-harness.js';
import { isProblem } from '../wire/problem.js';

/** A shortened form for test titles: printing an oversized body would take longer than refusing it. */
const describeBody = (body: unknown): string =>
  inspect(body, {
    depth: 4,
    maxArrayLength: 10,
    maxStringLength: 100,
    breakLength: Number.POSITIVE_INFINITY,
  });

forEachStore('malformed input', (open) => {
  async function openWithClaim(): Promise<CoordinatorHarness> {
    const harness = await open();
    await harness.plan(planOf(A));
    await new HarnessAgent(harness, 'alpha', 's1').claim(A);
    return harness;
  }
  const logPositions = async (harness: CoordinatorHarness) => [
    await harness.position(),
    await harness.position({ tenant_id: 'acme', project_id: '_tenant' }),
    (await harness.store.projects('acme')).length,
  ];

  test.each(Object.entries(BODY_ENDPOINTS))(
    'to %s is refused with a short message and changes nothing',
    async (name, endpoint) => {
      const harness = await openWithClaim();
      const before = await logPositions(harness);
      for (const body of wrongBodies(name, endpoint)) {
        const reply = await endpoint.send(harness.coordinator, body);
        expect(isProblem(reply) ? reply.problem : 'no problem', describeBody(body)).toMatch(
          /^(INVALID_REQUEST|INVALID_LEASE)$/,
        );
        if (isProblem(reply)) expect(reply.detail.length, describeBody(body)).toBeLessThan(1000);
      }
      expect(await logPositions(harness)).toEqual(before);
      expect(({} as Record<string, unknown>).admin).toBeUndefined();
    },
  );

  test.each(Object.entries(BODY_ENDPOINTS))(
    'to %s with an invalid tenant or project name is refused',
    async (_name, endpoint) => {
      const harness = await openWithClaim();
      for (const tenant_id of ['', '..', '../acme', 'a/b', '__proto__', '.', MEGABYTE, 'a\0b']) {
        const reply = await endpoint.send(harness.coordinator, endpoint.body, { ...PROJECT_KEY, tenant_id });
        expect(reply, tenant_id.slice(0, 20)).toMatchObject({ problem: 'INVALID_REQUEST' });
      }
    },
  );

  test('is reported in a readable message that names the field', async () => {
    const { coordinator } = await openWithClaim();
    const request = { task_id: A, session_id: 's1' };
    const problemDetail = async (body: object) => {
      const reply = await coordinator.claims.claimTask(PROJECT_KEY, body);
      return isProblem(reply) ? reply.detail : '';
    };
    expect(await problemDetail(request)).toBe('agent_id: is missing');
    expect(await problemDetail({ ...request, agent_id: '!' })).toMatch(/^agent_id: an agent_id starts with/);
    expect(await problemDetail({ ...request, agent_id: 'a', session_id: '!' })).toMatch(
      /: a session_id starts with/,
    );
  });

  test('in a batch is refused item by item', async () => {
    const harness = await openWithClaim();
    const before = await logPositions(harness);
    const items = [null, 7, {}, PROTO, { ...handle, extra: 1 }];
    for (const endpoint of [
      BODY_ENDPOINTS.renew_batch,
      BODY_ENDPOINTS.release_batch,
      BODY_ENDPOINTS.submit_batch,
    ]) {
      const reply = (await endpoint?.send(harness.coordinator, { items })) as { results: unknown[] };
      expect(reply.results.every((one) => isProblem(one) && one.problem === 'INVALID_REQUEST')).toBe(true);
    }
    expect(await logPositions(harness)).toEqual(before);
  });

  test('an all_or_nothing batch is refused when it is too long or names a task twice', async () => {
    const harness = await openWithClaim();
    const claim = (task_id: string) => ({ task_id, agent_id: 'a', session_id: 's9' });
    const many = Array.from({ length: 21 }, (_, index) => claim(`A-1${String(index).padStart(2, '0')}-x`));
    for (const claims of [many, [claim(A), claim(A)]]) {
      const reply = await harness.coordinator.claims.batchClaim(PROJECT_KEY, {
        claims,
        mode: 'all_or_nothing',
      });
      expect(reply).toMatchObject({ problem: 'INVALID_REQUEST' });
    }
  });

  test('invalid names are refused by every query', async () => {
    const harness = await openWithClaim();
    const { queries } = harness.coordinator;
    for (const taskId of [
      '',
      'task-101',
      '~plan',
      '~session/s1',
      '__proto__',
      '../x',
      MEGABYTE,
      7 as never,
    ]) {
      for (const reply of [
        await queries.getTaskState(PROJECT_KEY, taskId),
        await queries.getClaimHistory(PROJECT_KEY, taskId),
        await queries.listResults(PROJECT_KEY, taskId),
        await queries.getResult(PROJECT_KEY, taskId, 'x'),
        await queries.explain(PROJECT_KEY, taskId),
        await harness.coordinator.decisions.operate(PROJECT_KEY, taskId, 'hold', operator),
      ]) {
        expect(reply, String(taskId).slice(0, 20)).toMatchObject({ problem: 'INVALID_REQUEST' });
      }
    }
    for (const name of ['', '..', '_tenant', MEGABYTE]) {
      const projectKey = { tenant_id: 'acme', project_id: name };
      for (const reply of [
        await queries.status(projectKey),
        await queries.agents(projectKey),
        await harness.coordinator.feed.page(projectKey),
        await queries.listTasks(projectKey),
        await queries.getTaskState(projectKey, A),
        await harness.coordinator.plans.get(projectKey),
        await harness.coordinator.settings.getPolicy(projectKey),
      ]) {
        expect(reply, name.slice(0, 20)).toMatchObject({ problem: 'INVALID_REQUEST' });
      }
    }
  });

  test('an invalid tenant, hash or session name finds nothing and stores nothing', async () => {
    const { coordinator } = await openWithClaim();
    const bytes = new Uint8Array(1);
    for (const tenant of ['', '..', '../acme', '__proto__', MEGABYTE]) {
      expect(await coordinator.queries.projectsOf(tenant)).toEqual([]);
      expect(await coordinator.sessions.get(tenant, 's1')).toMatchObject({ problem: 'NOT_FOUND' });
      expect(await coordinator.queries.getBlob(tenant, HASH)).toMatchObject({ problem: 'NOT_FOUND' });
      expect(await coordinator.sessions.close(tenant, 's1')).toMatchObject({ problem: 'NOT_FOUND' });
      expect(await coordinator.settings.getLimits(tenant)).toMatchObject({ problem: 'INVALID_REQUEST' });
      expect(await coordinator.blobs.putBlob(tenant, HASH, bytes)).toMatchObject({
        problem: 'INVALID_REQUEST',
      });
    }
    for (const hash of ['', '../x', '__proto__', MEGABYTE]) {
      expect(await coordinator.queries.getBlob('acme', hash)).toMatchObject({ problem: 'NOT_FOUND' });
      expect(await coordinator.blobs.putBlob('acme', hash, bytes)).toMatchObject({
        problem: 'INVALID_REQUEST',
      });
    }
    for (const session of ['', '../x', MEGABYTE]) {
      expect(await coordinator.sessions.close('acme', session)).toMatchObject({ problem: 'NOT_FOUND' });
    }
  });

  test('invalid plans are refused with their faults, with and without a request id', async () => {
    const harness = await openWithClaim();
    const before = await logPositions(harness);
    const plans = [
      null,
      7,
      [],
      {},
      PROTO,
      '',
      'x',
      '[',
      '{"__proto__": 1}',
      nested(100_000),
      { tracks: nested(100_000) },
      { tracks: PROTO },
      { tracks: { A: [nested(1000)] } },
      { tracks: { A: [PROTO] } },
      { tracks: { A: 7 } },
      planOf({ id: MEGABYTE }),
      planOf({ id: A, priority: Number.NaN }),
      planOf({ id: A, subtasks: 1e9 }),
      planOf({ id: A, metadata: PROTO }),
      planOf({ id: A, extra: 1 }),
      'a: &a [*a]',
      `a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\ntracks: *c`,
    ];
    for (const plan of plans) {
      expect(await harness.coordinator.plans.put(PROJECT_KEY, plan), describeBody(plan)).toMatchObject({
        problem: 'INVALID_PLAN',
      });
      const withRequestId = await harness.coordinator.plans.put(PROJECT_KEY, plan, { request_id: 'r1' });
      expect(withRequestId, describeBody(plan)).toMatchObject({ problem: 'INVALID_PLAN' });
    }
    for (const tasks of [
      null,
      7,
      {},
      [null],
      [7],
      [PROTO],
      nested(100_000),
      [nested(100_000)],
      [{ id: MEGABYTE }],
    ]) {
      const reply = await harness.coordinator.plans.add(PROJECT_KEY, tasks, { request_id: 'r2' });
      expect(reply, describeBody(tasks)).toMatchObject({ problem: 'INVALID_PLAN' });
    }
    expect(await logPositions(harness)).toEqual(before);
  });

  test('the work, sessions and handles of another tenant are not visible', async () => {
    const harness = await openWithClaim();
    const theirs = { tenant_id: 'other', project_id: 'shop' };
    const { coordinator } = harness;
    const before = await logPositions(harness);
    const unknown = { problem: 'UNKNOWN_PROJECT', detail: expect.not.stringContaining('Did you mean') };
    expect(await coordinator.claims.claimTask(theirs, BODY_ENDPOINTS.claim?.body)).toMatchObject({
      reason: 'UNKNOWN_PROJECT',
    });
    expect(await coordinator.holder.renewLease(theirs, handle)).toMatchObject(unknown);
    expect(await coordinator.holder.releaseClaim(theirs, handle)).toMatchObject(unknown);
    expect(await coordinator.holder.submitResult(theirs, result)).toMatchObject(unknown);
    expect(await coordinator.decisions.operate(theirs, A, 'force_release', operator)).toMatchObject(unknown);
    expect(await coordinator.sessions.close('other', 's1')).toMatchObject({ problem: 'NOT_FOUND' });
    const { feed, queries, sessions } = coordinator;
    expect(await queries.getTaskState(theirs, A)).toMatchObject(unknown);
    expect(await sessions.get('other', 's1')).toMatchObject({ problem: 'NOT_FOUND' });
    expect(await sessions.claimsOf('other', 's1')).toEqual({ claims: [], next: null });
    expect(await feed.page(theirs)).toMatchObject(unknown);
    expect(await queries.projectsOf('other')).toEqual([]);
    expect(await logPositions(harness)).toEqual(before);
  });
});
