import { describe, expect, test } from 'vitest';
import { HarnessAgent, personCaller } from '../../../test/support/agent.js';
import {
  CoordinatorHarness,
  forEachStore,
  PROJECT_KEY,
  planOf,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import { DEFAULT_LIMITS, ENTERPRISE_LIMITS } from '../../core/claims/policy.js';

const A = 'A-001-core';
const numberedTasks = (count: number) =>
  Array.from({ length: count }, (_, index) => `A-${String(index + 1).padStart(3, '0')}-work`);

describe('the limits of specification 004 §7.2', () => {
  // req: LIM-001, LIM-002, LIM-003, LIM-004, LIM-005, LIM-006
  test('have the default values of the specification', () => {
    expect(DEFAULT_LIMITS).toEqual({
      max_concurrent_claims: 100,
      max_lease_duration_seconds: 3600,
      min_lease_duration_seconds: 30,
      max_generations_per_task: 100,
      claim_history_retention_days: 90,
      max_result_size_bytes: 10_485_760,
      max_active_sessions: 50,
      session_idle_seconds: 900,
      require_signatures: false,
    });
  });

  // req: LIM-001, LIM-002, LIM-003, LIM-004, LIM-005, LIM-006
  test('have the enterprise values of the specification', () => {
    expect(ENTERPRISE_LIMITS).toEqual({
      max_concurrent_claims: 1000,
      max_lease_duration_seconds: 7200,
      min_lease_duration_seconds: 30,
      max_generations_per_task: 1000,
      claim_history_retention_days: 365,
      max_result_size_bytes: 104_857_600,
      max_active_sessions: 500,
      session_idle_seconds: 900,
      require_signatures: false,
    });
  });
});

// req: PRF-001
test('a tenant whose limit is 10,000 live claims can have as many, and not one more', async () => {
  const harness = await CoordinatorHarness.open('file', { limits: { max_concurrent_claims: 10_000 } });
  await harness.plan(planOf(A));
  const alpha = new HarnessAgent(harness, 'alpha', 's1');
  const edges = Array.from({ length: 10_001 }, (_, index) => `REQ-F-${index}#design_code`);
  const replies = await Promise.all(edges.map((edge) => alpha.claim(edge)));
  const refused = replies.filter(({ success }) => !success);
  expect(refused).toMatchObject([{ limit: 'max_concurrent_claims', limit_value: 10_000 }]);
  expect(await harness.store.countPermits('acme', 'claims')).toBe(10_000);
  const held = replies.find(({ success }) => success)?.claim?.task_id;
  expect(await alpha.renew(String(held))).toMatchObject({ reason: 'RENEWED' });
});

forEachStore('limits', (open) => {
  // req: LIM-007
  test('are the defaults until an admin changes them, and survive a restart', async () => {
    const harness = await open();
    expect(await harness.coordinator.settings.getLimits('acme')).toEqual(DEFAULT_LIMITS);
    const reply = await harness.coordinator.settings.putLimits(
      'acme',
      { max_concurrent_claims: 3 },
      personCaller('admin'),
    );
    expect(reply).toEqual({ ...DEFAULT_LIMITS, max_concurrent_claims: 3 });
    await harness.restart();
    expect(await harness.coordinator.settings.getLimits('acme')).toEqual({
      ...DEFAULT_LIMITS,
      max_concurrent_claims: 3,
    });
    expect(await harness.coordinator.settings.getLimits('other')).toEqual(DEFAULT_LIMITS);
    expect(await harness.coordinator.queries.projectsOf('acme')).toEqual([]);
  });

  // req: LSE-013
  test.each([
    ['default', {}, 30, 3600],
    ['enterprise', ENTERPRISE_LIMITS, 30, 7200],
  ])('bound the lease of a claim and of a renewal: %s', async (_name, limits, min, max) => {
    const harness = await open({ limits });
    await harness.plan(planOf(A));
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    const position = await harness.position();
    for (const lease_duration_seconds of [min - 1, max + 1]) {
      expect(await alpha.tryClaim(A, { lease_duration_seconds })).toMatchObject({ problem: 'INVALID_LEASE' });
    }
    expect(await harness.position()).toBe(position);
    for (const lease_duration_seconds of [min, max]) {
      expect((await alpha.claim(A, { lease_duration_seconds })).success).toBe(true);
      await alpha.release(A);
    }
    await alpha.claim(A);
    const renewal = { ...alpha.expectedHandle(A), lease_duration_seconds: max + 1 };
    expect(await harness.coordinator.holder.renewLease(PROJECT_KEY, renewal)).toMatchObject({
      problem: 'INVALID_LEASE',
    });
  });

  test('bound the default lease of a claim that requests no duration', async () => {
    const harness = await open({ limits: { max_lease_duration_seconds: 120 } });
    await harness.plan(planOf(A, 'B-001-data'));
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    expect(await alpha.claim(A)).toMatchObject({ claim: { lease_duration_seconds: 120 } });
    expect(await alpha.claim('REQ-F-1#design_code')).toMatchObject({
      claim: { lease_duration_seconds: 120 },
    });
    const bounds = { min_lease_duration_seconds: 400, max_lease_duration_seconds: 7200 };
    await harness.coordinator.settings.putLimits('acme', bounds);
    expect(await alpha.claim('B-001-data')).toMatchObject({ claim: { lease_duration_seconds: 400 } });
    expect(await alpha.claim('REQ-F-2#design_code')).toMatchObject({
      claim: { lease_duration_seconds: 3600 },
    });
  });

  test('are named, with their value, in every refusal that they cause', async () => {
    const limits = { max_concurrent_claims: 1, max_active_sessions: 1, max_result_size_bytes: 10 };
    const harness = await open({ limits: { ...limits, max_generations_per_task: 1 } });
    const [one, two] = numberedTasks(2) as [string, string];
    await harness.plan(planOf(one, two));
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    const nextContaining = (text: string) => ({ next: expect.stringContaining(text) });
    await alpha.claim(one);
    const claims = { limit: 'max_concurrent_claims', limit_value: 1 };
    expect(await alpha.claim(two)).toMatchObject({
      ...claims,
      ...nextContaining('max_concurrent_claims (1) is reached'),
    });
    const opening = { session_id: 's2', user_id: 'u', project_id: 'shop' };
    expect(await harness.coordinator.sessions.open('acme', opening)).toMatchObject({
      limit: 'max_active_sessions',
      limit_value: 1,
      ...nextContaining('max_active_sessions (1) is reached'),
    });
    expect(await alpha.submit(one, 'x'.repeat(20))).toMatchObject({
      reason: 'RESULT_TOO_LARGE',
      ...nextContaining('The result has 22 bytes, and max_result_size_bytes is 10.'),
    });
    await alpha.release(one);
    expect(await alpha.claim(one)).toMatchObject({
      limit: 'max_generations_per_task',
      ...nextContaining('max_generations_per_task (1) is reached'),
    });
    const outsideLimits =
      'lease_duration_seconds: 29 is outside the limits of the tenant: min_lease_duration_seconds is 30, max_lease_duration_seconds is 3600';
    expect(await alpha.tryClaim(two, { lease_duration_seconds: 29 })).toMatchObject({
      detail: outsideLimits,
    });
    await alpha.claim(two);
    const renewal = { ...alpha.expectedHandle(two), lease_duration_seconds: 29 };
    expect(await harness.coordinator.holder.renewLease(PROJECT_KEY, renewal)).toMatchObject({
      detail: outsideLimits,
    });
  });

  test('of claims refuse one claim too many with the name of the limit, until a claim expires', async () => {
    const harness = await open({ limits: { max_concurrent_claims: 2 } });
    const [one, two, three] = numberedTasks(3) as [string, string, string];
    await harness.plan(planOf(one, two, three));
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    await alpha.claim(one, { lease_duration_seconds: 60 });
    await alpha.claim(two);
    expect(await alpha.claim(three)).toMatchObject({
      success: false,
      reason: 'DENIED_LIMIT',
      limit: 'max_concurrent_claims',
    });
    expect(await alpha.next()).toMatchObject({ reason: 'DENIED_LIMIT', limit: 'max_concurrent_claims' });
    harness.advance(59);
    expect((await alpha.claim(three)).reason).toBe('DENIED_LIMIT');
    harness.advance(1);
    expect((await alpha.claim(three)).reason).toBe('GRANTED');
    expect((await alpha.claim(one)).reason).toBe('DENIED_LIMIT');
    await alpha.submit(two);
    expect((await alpha.claim(one)).reason).toBe('GRANTED');
  });

  test('of claims count suspended and stale claims until they are released', async () => {
    const harness = await open({ limits: { max_concurrent_claims: 2 } });
    const EDGE = 'REQ-F-1#design_code';
    await harness.plan(planOf(A, 'B-001-data'));
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    await alpha.claim(EDGE, { lease_duration_seconds: 30 });
    await alpha.claim(A, { lease_duration_seconds: 30 });
    await alpha.suspends(A);
    harness.advance(7200);
    expect(await alpha.claim('B-001-data')).toMatchObject({ limit: 'max_concurrent_claims' });
    await alpha.resumes(A);
    await alpha.release(A);
    expect((await alpha.claim('B-001-data')).success).toBe(true);
    await alpha.release('B-001-data');
    await harness.coordinator.decisions.operate(PROJECT_KEY, EDGE, 'force_release', {
      expected_generation: 1,
      reason: 'gone',
    });
    expect(await harness.store.countPermits('acme', 'claims')).toBe(0);
  });

  // req: LIM-001
  test('of claims are not exceeded by 500 concurrent claims across the projects of a tenant', async () => {
    const harness = await open({ limits: { max_concurrent_claims: 123, max_active_sessions: 1000 } });
    const projects = ['p1', 'p2', 'p3', 'p4', 'p5'].map((project_id) => ({ tenant_id: 'acme', project_id }));
    for (const projectKey of projects) await harness.plan(planOf(...numberedTasks(100)), projectKey);
    const claims = projects.flatMap((projectKey, index) =>
      numberedTasks(100).map((id) =>
        new HarnessAgent(harness, 'alpha', `s-${index}`, null, projectKey).claim(id),
      ),
    );
    const replies = await Promise.all(claims);
    expect(replies.filter((reply) => reply.success)).toHaveLength(123);
    expect(new Set(replies.map((reply) => reply.reason))).toEqual(new Set(['GRANTED', 'DENIED_LIMIT']));
    expect(await harness.store.countPermits('acme', 'claims')).toBe(123);
    const other = { tenant_id: 'other', project_id: 'p1' };
    await harness.plan(planOf(A), other);
    expect((await new HarnessAgent(harness, 'alpha', 's1', null, other).claim(A)).success).toBe(true);
  });

  // req: LIM-006
  test('of sessions refuse one session too many, whether opened explicitly or by its first claim', async () => {
    const harness = await open({ limits: { max_active_sessions: 2 } });
    const [one, two, three] = numberedTasks(3) as [string, string, string];
    await harness.plan(planOf(one, two, three));
    await new HarnessAgent(harness, 'a', 's1').claim(one, { lease_duration_seconds: 30 });
    await harness.coordinator.sessions.open('acme', { session_id: 's2', user_id: 'u', project_id: 'shop' });
    const third = new HarnessAgent(harness, 'c', 's3');
    const refusal = { success: false, reason: 'DENIED_LIMIT', limit: 'max_active_sessions' };
    expect(await third.claim(three)).toMatchObject(refusal);
    const opening = { session_id: 's3', user_id: 'u', project_id: 'shop' };
    expect(await harness.coordinator.sessions.open('acme', opening)).toMatchObject(refusal);
    expect((await new HarnessAgent(harness, 'b', 's2').claim(two)).success).toBe(true);
    harness.advance(900);
    expect((await third.claim(three)).success).toBe(true);
  });

  test('of sessions free a session whose only claim an operator ends, though the claim could have lasted for ever', async () => {
    const harness = await open({ limits: { max_active_sessions: 1 } });
    const [one, two] = numberedTasks(2) as [string, string];
    await harness.plan(planOf(one, two));
    await harness.coordinator.settings.putPolicy(PROJECT_KEY, { stale_policy: { task: 'hold' } });
    await new HarnessAgent(harness, 'a', 's1').claim(one);
    const other = new HarnessAgent(harness, 'b', 's2');
    const end = { expected_generation: 1, reason: 'the agent is gone' };
    expect(await harness.coordinator.decisions.operate(PROJECT_KEY, one, 'force_release', end)).toMatchObject(
      {
        reason: 'FORCED',
      },
    );
    expect((await other.claim(two)).success).toBe(false);
    harness.advance(900);
    expect((await other.claim(two)).success).toBe(true);
  });

  test('of sessions are not exceeded by concurrent sessions', async () => {
    const harness = await open({ limits: { max_active_sessions: 7 } });
    await harness.plan(planOf(...numberedTasks(60)));
    const replies = await Promise.all(
      numberedTasks(60).map((id, index) => new HarnessAgent(harness, 'a', `s-${index}`).claim(id)),
    );
    expect(replies.filter((reply) => reply.success)).toHaveLength(7);
    expect(await harness.store.countPermits('acme', 'sessions')).toBe(7);
  });

  // req: LIM-003
  test('of generations refuse a task that has used all of them', async () => {
    const harness = await open({ limits: { max_generations_per_task: 3 } });
    await harness.plan(planOf(A));
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    for (const generation of [1, 2, 3]) {
      expect((await alpha.claim(A)).claim?.generation).toBe(generation);
      await alpha.release(A);
    }
    expect(await alpha.claim(A)).toMatchObject({
      reason: 'DENIED_LIMIT',
      limit: 'max_generations_per_task',
    });
    expect(unwrap(await harness.coordinator.queries.getTaskState(PROJECT_KEY, A)).readiness).toBe(
      'exhausted',
    );
    expect((await alpha.next()).reason).toBe('NOTHING_READY');
    await harness.coordinator.settings.putLimits('acme', { max_generations_per_task: 4 });
    expect((await alpha.claim(A)).claim?.generation).toBe(4);
  });

  // req: LIM-005, RES-009
  test('of results refuse one byte too many, keep the claim and park nothing', async () => {
    const harness = await open({ limits: { max_result_size_bytes: 100 } });
    await harness.plan(planOf(A));
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    await alpha.claim(A);
    expect(await alpha.submit(A, 'x'.repeat(99))).toMatchObject({
      accepted: false,
      reason: 'RESULT_TOO_LARGE',
      parked: null,
    });
    const refused = (await harness.events()).at(-1);
    expect(refused).toMatchObject({
      event_type: 'RESULT_REJECTED',
      payload: { rejection_reason: 'RESULT_TOO_LARGE', parked: false, metadata: { result_size_bytes: 101 } },
    });
    expect(refused?.payload.result_data).toBeUndefined();
    expect(await alpha.submit(A, 'x'.repeat(98))).toMatchObject({ accepted: true });
  });
});

describe('limits over two coordinators of one store', () => {
  test('are not exceeded by 500 concurrent claims', async () => {
    const harness = await CoordinatorHarness.open('memory', {
      limits: { max_concurrent_claims: 77, max_active_sessions: 1000 },
    });
    const other = await harness.openAnother();
    await harness.plan(planOf(...numberedTasks(500)));
    const claims = numberedTasks(500).flatMap((task_id, index) => {
      const coordinator = index % 2 === 0 ? harness.coordinator : other;
      return coordinator.claims.claimTask(PROJECT_KEY, {
        task_id,
        agent_id: 'alpha',
        session_id: `s-${index % 20}`,
      });
    });
    const replies = (await Promise.all(claims)).map(unwrap);
    expect(replies.filter((reply) => reply.success)).toHaveLength(77);
    expect(await harness.store.countPermits('acme', 'claims')).toBe(77);
  });

  test('apply to both once they are changed through one of them', async () => {
    const harness = await CoordinatorHarness.open('memory');
    const other = await harness.openAnother();
    await harness.plan(planOf(...numberedTasks(3)));
    expect(await other.settings.getLimits('acme')).toEqual(DEFAULT_LIMITS);
    await harness.coordinator.settings.putLimits('acme', { max_concurrent_claims: 1 });
    const [one, two] = numberedTasks(2);
    const claim = (task_id: string | undefined) =>
      other.claims.claimTask(PROJECT_KEY, { task_id, agent_id: 'alpha', session_id: 's1' });
    expect(await other.settings.getLimits('acme')).toMatchObject({ max_concurrent_claims: 1 });
    expect(await claim(one)).toMatchObject({ reason: 'GRANTED' });
    expect(await claim(two)).toMatchObject({ reason: 'DENIED_LIMIT' });
  });
});
