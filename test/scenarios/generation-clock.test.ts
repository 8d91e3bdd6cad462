import { expect, test } from 'vitest';
import { lineageTable } from '../../src/core/views/lineage.js';
import { forEachStore, PROJECT_KEY, planOf, unwrap } from '../support/coordinator-harness.js';
import { minutes, Timeline } from './timeline.js';

const TASK = 'A-101-build-login';

forEachStore('the generation clock of specification 004', (open) => {
  async function openTimeline(plan: unknown = planOf(TASK)) {
    const harness = await open();
    await harness.plan(plan);
    return { harness, timeline: new Timeline(harness), queries: harness.coordinator.queries };
  }

  // req: CLK-003, CLK-005, CLK-006, CLM-001, CLM-007, LSE-003, QRY-001, RES-001, RES-006, RES-008
  test('4.1: a single agent claims, renews and completes a task', async () => {
    const { harness, timeline, queries } = await openTimeline();
    const agentA = timeline.agent('Agent-A', 'Session-1');

    timeline.T(0);
    expect(await agentA.claim(TASK, minutes(6))).toEqual({
      success: true,
      reason: 'GRANTED',
      current_holder: null,
      claim: {
        id: expect.stringMatching(/^clm_[A-Za-z0-9_-]{22}$/),
        tenant_id: 'acme',
        project_id: 'shop',
        task_id: 'A-101-build-login',
        track: 'A',
        sequence: 101,
        agent_id: 'Agent-A',
        session_id: 'Session-1',
        generation: 1,
        state: 'ACTIVE',
        claimed_at: '2026-01-04T06:00:00.000Z',
        lease_duration_seconds: 360,
        expires_at: '2026-01-04T06:06:00.000Z',
        work_product_ref: null,
        metadata: {},
      },
    });

    timeline.T(5);
    expect(await agentA.renew(TASK)).toEqual({
      success: true,
      reason: 'RENEWED',
      new_expiry: '2026-01-04T06:11:00.000Z',
    });

    timeline.T(10);
    const submitted = await agentA.submit(TASK, { login: 'works' });
    expect(submitted).toEqual({
      accepted: true,
      reason: 'ACCEPTED',
      current_generation: 1,
      work_lost: false,
      late: false,
      work_product_ref: expect.stringMatching(/^wp-A-101-build-login-gen1-[0-9a-f]{12}$/),
      parked: null,
    });

    const state = unwrap(await queries.getTaskState(PROJECT_KEY, TASK));
    expect(state).toMatchObject({ phase: 'COMPLETED', readiness: 'completed', generation: 1, parked: 0 });
    expect(state.claim).toMatchObject({ state: 'RELEASED', work_product_ref: submitted.work_product_ref });
    expect(state.claim).not.toHaveProperty('id');
    expect(state.result).toMatchObject({ generation: 1, agent_id: 'Agent-A', session_id: 'Session-1' });
    const { generations, rejected } = unwrap(await queries.getClaimHistory(PROJECT_KEY, TASK));
    expect(rejected).toEqual([]);
    expect(generations).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        tenant_id: 'acme',
        project_id: 'shop',
        task_id: 'A-101-build-login',
        track: 'A',
        sequence: 101,
        generation: 1,
        session_id: 'Session-1',
        agent_id: 'Agent-A',
        user_id: null,
        acquired_at: '2026-01-04T06:00:00.000Z',
        released_at: '2026-01-04T06:10:00.000Z',
        release_reason: 'COMPLETED',
        result_accepted: true,
        work_product_ref: submitted.work_product_ref,
        adopted_from: null,
      },
    ]);
    expect(await harness.eventTypesOf(TASK)).toEqual(['CLAIM_ACQUIRED', 'LEASE_RENEWED', 'RESULT_SUBMITTED']);
  });

  // req: AUD-003, CLK-002, CLK-004, CLK-008, CLM-002, CLM-008, LSE-002, QRY-002, RCV-001, RCV-008, RES-011
  test('4.2: the lease of a disconnected agent expires, and its late result is refused', async () => {
    const { harness, timeline, queries } = await openTimeline();
    const agentA = timeline.agent('Agent-A', 'Session-1', 'Alice');
    const agentB = timeline.agent('Agent-B', 'Session-2', 'Bob');

    timeline.T(0);
    expect(await agentA.claim(TASK, minutes(15))).toMatchObject({ success: true, claim: { generation: 1 } });
    timeline.T(10);
    expect(await agentB.claim(TASK)).toMatchObject({
      success: false,
      reason: 'DENIED_ACTIVE_CLAIM',
      claim: null,
      current_holder: 'Agent-A',
      expires_at: '2026-01-04T06:15:00.000Z',
    });
    timeline.T(15);
    const expired = unwrap(await queries.getTaskState(PROJECT_KEY, TASK));
    expect(expired).toMatchObject({ phase: 'OPEN', readiness: 'ready', claim: { state: 'EXPIRED' } });
    timeline.T(16);
    expect(await agentB.claim(TASK, minutes(15))).toMatchObject({
      success: true,
      reason: 'GRANTED',
      claim: { generation: 2, agent_id: 'Agent-B' },
    });
    timeline.T(20);
    expect(await agentB.submit(TASK)).toMatchObject({ accepted: true, current_generation: 2 });
    timeline.T(25);
    expect(await agentA.submit(TASK)).toEqual({
      accepted: false,
      reason: 'STALE_GENERATION',
      current_generation: 2,
      work_lost: true,
      late: false,
      work_product_ref: null,
      parked: expect.stringMatching(/^res_[0-9a-f]{24}$/),
      next: expect.any(String),
    });

    const state = unwrap(await queries.getTaskState(PROJECT_KEY, TASK));
    expect(state).toMatchObject({ phase: 'COMPLETED', result: { agent_id: 'Agent-B', generation: 2 } });
    const { generations, rejected } = unwrap(await queries.getClaimHistory(PROJECT_KEY, TASK));
    expect(generations).toMatchObject([
      { generation: 1, release_reason: 'EXPIRED', result_accepted: false, work_product_ref: null },
      { generation: 2, release_reason: 'COMPLETED', result_accepted: true },
    ]);
    expect(rejected).toMatchObject([{ generation: 1, rejection_reason: 'STALE_GENERATION', parked: true }]);
    expect(await harness.eventTypesOf(TASK)).toEqual([
      'CLAIM_ACQUIRED',
      'CLAIM_REJECTED',
      'CLAIM_LOST',
      'CLAIM_ACQUIRED',
      'RESULT_SUBMITTED',
      'RESULT_REJECTED',
    ]);
  });

  // req: CLK-012, CLK-013, CLM-012, RCV-002, RCV-003
  test('4.3: the third agent completes the task after two crashes, and both late results are refused', async () => {
    const { timeline, queries } = await openTimeline();
    const agentA = timeline.agent('Agent-A', 'Session-1');
    const agentB = timeline.agent('Agent-B', 'Session-2');
    const agentC = timeline.agent('Agent-C', 'Session-3');

    timeline.T(0);
    expect((await agentA.claim(TASK, minutes(5))).claim?.generation).toBe(1);
    timeline.T(6);
    expect((await agentB.claim(TASK, minutes(6))).claim?.generation).toBe(2);
    timeline.T(13);
    expect((await agentC.claim(TASK, minutes(6))).claim?.generation).toBe(3);
    timeline.T(18);
    expect(await agentC.submit(TASK)).toMatchObject({ accepted: true, current_generation: 3 });
    timeline.T(20);
    const stale = { accepted: false, reason: 'STALE_GENERATION', current_generation: 3, work_lost: true };
    expect(await agentA.submit(TASK)).toMatchObject(stale);
    timeline.T(22);
    expect(await agentB.submit(TASK)).toMatchObject(stale);

    expect(unwrap(await queries.getTaskState(PROJECT_KEY, TASK)).result?.agent_id).toBe('Agent-C');
    const { generations } = unwrap(await queries.getClaimHistory(PROJECT_KEY, TASK));
    expect(generations.map((grant) => [grant.generation, grant.release_reason, grant.released_at])).toEqual([
      [1, 'EXPIRED', '2026-01-04T06:05:00.000Z'],
      [2, 'EXPIRED', '2026-01-04T06:12:00.000Z'],
      [3, 'COMPLETED', '2026-01-04T06:18:00.000Z'],
    ]);
  });

  // req: CLK-011, CLM-010, PLN-012, PLN-013, QRY-003
  test('4.4: subtasks pass from one agent to another, and the parent is merged last', async () => {
    const { timeline, queries } = await openTimeline(planOf({ id: TASK, subtasks: 5 }));
    const part = (index: number) => `${TASK}::${index}`;
    const agentA = timeline.agent('Agent-A', 'Session-1');
    const agentB = timeline.agent('Agent-B', 'Session-2');
    const reasons = (replies: readonly { reason: string }[]) => replies.map((reply) => reply.reason);

    timeline.T(0);
    const first = await agentA.claimBatch([part(1), part(2), part(3)], minutes(6));
    expect(first.map((reply) => reply.claim?.generation)).toEqual([1, 1, 1]);
    timeline.T(1);
    const second = await agentB.claimBatch([part(3), part(4), part(5)], minutes(10));
    expect(reasons(second)).toEqual(['DENIED_ACTIVE_CLAIM', 'GRANTED', 'GRANTED']);
    expect(second[0]?.current_holder).toBe('Agent-A');
    timeline.T(5);
    expect((await agentA.submit(part(1))).accepted).toBe(true);
    expect((await agentA.submit(part(2))).accepted).toBe(true);
    timeline.T(6);
    expect(unwrap(await queries.getTaskState(PROJECT_KEY, part(3))).claim?.state).toBe('EXPIRED');
    timeline.T(7);
    expect((await agentB.claim(part(3))).claim?.generation).toBe(2);
    expect(await agentB.claim(TASK)).toMatchObject({
      reason: 'DENIED_DEPENDENCIES',
      waiting_for: [part(3), part(4), part(5)],
    });
    timeline.T(10);
    for (const index of [3, 4, 5]) expect((await agentB.submit(part(index))).accepted).toBe(true);
    timeline.T(12);
    expect(await agentA.submit(part(3))).toMatchObject({ accepted: false, reason: 'STALE_GENERATION' });

    const { tasks } = unwrap(await queries.batchGetStates(PROJECT_KEY, [1, 2, 3, 4, 5].map(part)));
    expect(tasks.map((task) => [unwrap(task).result?.agent_id, unwrap(task).result?.generation])).toEqual([
      ['Agent-A', 1],
      ['Agent-A', 1],
      ['Agent-B', 2],
      ['Agent-B', 1],
      ['Agent-B', 1],
    ]);
    expect(unwrap(await queries.getTaskState(PROJECT_KEY, TASK)).phase).toBe('OPEN');
    expect((await agentB.claim(TASK)).claim?.generation).toBe(1);
    expect((await agentB.submit(TASK, { merged: 5 })).accepted).toBe(true);
    expect(unwrap(await queries.getTaskState(PROJECT_KEY, TASK)).phase).toBe('COMPLETED');
  });

  // req: AUD-010, QRY-004, QRY-005, SES-009
  test('9.2: the lineage lists every generation with its user and times, and every refused result', async () => {
    const { timeline, queries } = await openTimeline();
    const agentA = timeline.agent('agent-A', 'sess-001', 'Alice');
    const agentB = timeline.agent('agent-B', 'sess-002', 'Bob');
    const agentC = timeline.agent('agent-C', 'sess-003', 'Alice');

    await agentA.claim(TASK);
    timeline.T(6);
    await agentB.claim(TASK, minutes(2));
    timeline.T(9);
    await agentC.claim(TASK, minutes(10));
    timeline.T(15);
    await agentC.submit(TASK);
    timeline.T(18);
    await agentB.submit(TASK);
    timeline.T(20);
    await agentA.submit(TASK);

    expect(lineageTable(unwrap(await queries.getClaimHistory(PROJECT_KEY, TASK)))).toEqual({
      rows: [
        {
          generation: 1,
          session: 'sess-001',
          agent: 'agent-A',
          user: 'Alice',
          acquired: '2026-01-04T06:00:00.000Z',
          released: '2026-01-04T06:05:00.000Z',
          result: 'EXPIRED',
        },
        {
          generation: 2,
          session: 'sess-002',
          agent: 'agent-B',
          user: 'Bob',
          acquired: '2026-01-04T06:06:00.000Z',
          released: '2026-01-04T06:08:00.000Z',
          result: 'EXPIRED',
        },
        {
          generation: 3,
          session: 'sess-003',
          agent: 'agent-C',
          user: 'Alice',
          acquired: '2026-01-04T06:09:00.000Z',
          released: '2026-01-04T06:15:00.000Z',
          result: 'ACCEPTED',
        },
      ],
      rejected: [
        {
          session: 'sess-002',
          agent: 'agent-B',
          submitted: '2026-01-04T06:18:00.000Z',
          generation: 2,
          current_generation: 3,
          reason: 'STALE_GENERATION',
        },
        {
          session: 'sess-001',
          agent: 'agent-A',
          submitted: '2026-01-04T06:20:00.000Z',
          generation: 1,
          current_generation: 3,
          reason: 'STALE_GENERATION',
        },
      ],
    });
  });
});
