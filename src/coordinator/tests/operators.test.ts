import { expect, test } from 'vitest';
import { HarnessAgent, personCaller } from '../../../test/support/agent.js';
import { forEachStore, PROJECT_KEY, planOf, unwrap } from '../../../test/support/coordinator-harness.js';
import type { OperatorVerb } from '../../core/contract/tasks.js';
import { type Caller, OPEN_CALLER } from '../authentication/caller.js';

const [A, B, C] = ['A-001-core', 'B-001-data', 'C-001-api'] as const;

forEachStore('an operator', (open) => {
  async function openWithPlan() {
    const harness = await open();
    await harness.plan(planOf(A, { id: B, depends_on: [A] }, C));
    const { coordinator } = harness;
    const [alpha, beta] = [new HarnessAgent(harness, 'alpha', 's1'), new HarnessAgent(harness, 'beta', 's2')];
    const operate = (verb: OperatorVerb, taskId: string, expected_generation: number, fields = {}) =>
      coordinator.decisions.operate(
        PROJECT_KEY,
        taskId,
        verb,
        { expected_generation, reason: 'because', ...fields },
        personCaller('ops'),
      );
    return { harness, coordinator, queries: coordinator.queries, alpha, beta, operate };
  }

  test('must name the current generation', async () => {
    const { harness, alpha, operate } = await openWithPlan();
    await alpha.claim(A);
    const position = await harness.position();
    for (const verb of ['force_release', 'reset', 'hold', 'unhold'] as const) {
      expect(await operate(verb, A, 2)).toMatchObject({ success: false, reason: 'GENERATION_MISMATCH' });
    }
    const to = { agent_id: 'beta', session_id: 's2' };
    expect(await operate('reassign', A, 0, to)).toMatchObject({ reason: 'GENERATION_MISMATCH' });
    expect(await operate('adopt', A, 0, { result_id: 'res_x' })).toMatchObject({
      reason: 'GENERATION_MISMATCH',
    });
    expect(await harness.position()).toBe(position);
  });

  test('cannot change a task that is not in the plan', async () => {
    const { harness, operate } = await openWithPlan();
    const position = await harness.position();
    for (const verb of ['force_release', 'reset', 'hold', 'unhold'] as const) {
      expect(await operate(verb, 'Z-001-none', 0)).toMatchObject({ problem: 'NOT_FOUND' });
    }
    expect(await operate('reset', `${A}x`, 0)).toMatchObject({
      detail: expect.stringContaining(`Did you mean ${A}?`),
    });
    expect(await harness.position()).toBe(position);
  });

  test('force-releases a claim, and its late result is parked', async () => {
    const { alpha, beta, operate, queries } = await openWithPlan();
    await alpha.claim(A);
    expect(await operate('force_release', A, 1)).toMatchObject({
      success: true,
      reason: 'FORCED',
      task_id: A,
      phase: 'OPEN',
      readiness: 'ready',
      generation: 1,
      claim: { state: 'RELEASED' },
    });
    expect(await operate('force_release', A, 1)).toMatchObject({ success: false, reason: 'NO_CLAIM' });
    expect(await alpha.submit(A)).toMatchObject({ reason: 'NO_CLAIM', parked: expect.any(String) });
    expect((await beta.claim(A)).claim?.generation).toBe(2);
    expect(unwrap(await queries.getClaimHistory(PROJECT_KEY, A)).generations[0]?.release_reason).toBe(
      'FORCED',
    );
  });

  // req: CLM-013
  test('reassigns a live claim in one step', async () => {
    const { alpha, operate, harness, queries } = await openWithPlan();
    await alpha.claim(A);
    const reassigned = await operate('reassign', A, 1, { agent_id: 'beta', session_id: 's2' });
    expect(reassigned).toMatchObject({
      success: true,
      reason: 'REASSIGNED',
      generation: 2,
      claim: { agent_id: 'beta', session_id: 's2', state: 'ACTIVE' },
    });
    expect(await harness.eventTypesOf(A)).toEqual(['CLAIM_ACQUIRED', 'CLAIM_LOST', 'CLAIM_ACQUIRED']);
    expect(await alpha.renew(A)).toMatchObject({ reason: 'GENERATION_MISMATCH' });
    expect(unwrap(await queries.getClaimHistory(PROJECT_KEY, A)).generations[0]?.release_reason).toBe(
      'SUPERSEDED',
    );
    const tooLong = { agent_id: 'beta', session_id: 's2', lease_duration_seconds: 7201 };
    expect(await operate('reassign', A, 2, tooLong)).toMatchObject({ problem: 'INVALID_LEASE' });
  });

  test('is recorded with the user, or without one with the credential, and with the request id', async () => {
    const { harness, coordinator } = await openWithPlan();
    const hold = (taskId: string, caller: Caller, request_id: string) =>
      coordinator.decisions.operate(
        PROJECT_KEY,
        taskId,
        'hold',
        { expected_generation: 0, reason: 'wait', request_id },
        caller,
      );
    await hold(A, { ...personCaller('ops'), principal: 'key-1' }, 'r1');
    await hold(C, { ...OPEN_CALLER, principal: 'key-1' }, 'r2');
    const events = (await harness.events()).filter(({ event_type }) => event_type === 'TASK_HELD');
    expect(events).toMatchObject([
      { request_id: 'r1', payload: { by: 'ops' } },
      { request_id: 'r2', payload: { by: 'key-1' } },
    ]);
  });

  test('gets the number of parked results in the reply to every command', async () => {
    const { alpha, operate } = await openWithPlan();
    await alpha.claim(A);
    await alpha.release(A);
    await alpha.submit(A);
    expect(await operate('hold', A, 1)).toMatchObject({ reason: 'HELD', parked: 1 });
  });

  test('does not keep the session of the holder active', async () => {
    const { harness, alpha, operate } = await openWithPlan();
    await alpha.claim(A, { lease_duration_seconds: 60 });
    harness.advance(600);
    await operate('hold', A, 1);
    harness.advance(300);
    expect(await harness.store.countPermits(PROJECT_KEY.tenant_id, 'sessions')).toBe(0);
  });

  test('holds a task and lifts the hold', async () => {
    const { alpha, operate, harness } = await openWithPlan();
    expect(await operate('hold', A, 0, { reason: 'ask legal' })).toMatchObject({
      reason: 'HELD',
      readiness: 'held',
    });
    const position = await harness.position();
    expect(await operate('hold', A, 0, { reason: 'ask legal' })).toMatchObject({
      success: true,
      reason: 'HELD',
    });
    expect(await harness.position()).toBe(position);
    expect(await alpha.claim(A)).toMatchObject({ reason: 'DENIED_HELD', hold_reason: 'ask legal' });
    expect(await operate('unhold', A, 0)).toMatchObject({ reason: 'UNHELD', readiness: 'ready' });
    expect((await alpha.claim(A)).reason).toBe('GRANTED');
  });

  // req: RES-004
  test('resets a completed task, and work that was claimed on the old result is refused', async () => {
    const { alpha, beta, operate, queries } = await openWithPlan();
    await alpha.claim(A);
    expect(await operate('reset', A, 1)).toMatchObject({ reason: 'NOT_COMPLETED' });
    await alpha.submit(A);
    await beta.claim(B);
    expect(await operate('reset', A, 1)).toMatchObject({
      reason: 'RESET',
      phase: 'OPEN',
      generation: 1,
      result: null,
    });
    expect(await alpha.submit(A)).toMatchObject({ accepted: false, reason: 'NO_CLAIM' });
    expect(await beta.submit(B)).toMatchObject({
      accepted: false,
      reason: 'DEPENDENCY_CHANGED',
      work_lost: true,
      parked: expect.any(String),
    });
    expect(unwrap(await queries.getTaskState(PROJECT_KEY, B)).waiting_for).toEqual([A]);
    expect((await alpha.claim(A)).claim?.generation).toBe(2);
    await alpha.submit(A, 'new');
    expect(await beta.submit(B)).toMatchObject({ reason: 'DEPENDENCY_CHANGED' });
    await beta.release(B);
    await beta.claim(B);
    expect(await beta.submit(B)).toMatchObject({ accepted: true });
  });

  test('adopts a parked result under a new generation', async () => {
    const { harness, alpha, beta, operate, queries } = await openWithPlan();
    await alpha.claim(A);
    harness.advance(301);
    await beta.claim(A);
    const { parked } = await alpha.submit(A, { good: 'work' });
    expect(unwrap(await queries.getTaskState(PROJECT_KEY, A)).parked).toBe(1);
    expect(await operate('adopt', A, 2, { result_id: 'res_none' })).toMatchObject({
      reason: 'UNKNOWN_RESULT',
    });
    expect(await operate('adopt', A, 2, { result_id: parked })).toMatchObject({
      success: true,
      reason: 'ADOPTED',
      phase: 'COMPLETED',
      generation: 3,
      parked: 0,
      result: { generation: 3, result_id: parked },
    });
    expect(await beta.submit(A)).toMatchObject({ reason: 'STALE_GENERATION', current_generation: 3 });
    const { generations } = unwrap(await queries.getClaimHistory(PROJECT_KEY, A));
    expect(generations.at(-1)).toMatchObject({
      generation: 3,
      result_accepted: true,
      adopted_from: { result_id: parked, generation: 1, agent_id: 'alpha', session_id: 's1' },
    });
    expect(unwrap(await queries.getResult(PROJECT_KEY, A, parked ?? '')).result_data).toEqual({
      good: 'work',
    });
  });
});

forEachStore('a failing task', (open) => {
  async function openWithPolicy(policy = {}) {
    const harness = await open();
    await harness.plan(planOf(A));
    unwrap(await harness.coordinator.settings.putPolicy(PROJECT_KEY, policy));
    return {
      harness,
      coordinator: harness.coordinator,
      alpha: new HarnessAgent(harness, 'alpha', 's1'),
    };
  }

  test('can be claimed again after a pause that doubles', async () => {
    const { harness, alpha } = await openWithPolicy();
    const pauses: number[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      await alpha.claim(A);
      const failedMs = harness.environment.clock.wallMs();
      await alpha.release(A, { reason: 'ERROR', message: 'no' });
      const refused = await alpha.claim(A);
      expect(refused.reason).toBe('DENIED_BACKOFF');
      pauses.push(Date.parse(refused.retry_at ?? '') - failedMs);
      harness.advance(pauses.at(-1)! / 1000);
    }
    expect(pauses).toEqual([5_000, 10_000, 20_000, 40_000]);
  });

  test('can be taken over after expiry without a pause', async () => {
    const { harness, alpha } = await openWithPolicy();
    for (let turn = 1; turn <= 5; turn += 1) {
      expect((await alpha.claim(A)).claim?.generation).toBe(turn);
      harness.advance(300);
    }
  });

  test('is put on hold after ten consecutive errors or expiries, until a person lifts the hold', async () => {
    const { harness, coordinator, alpha } = await openWithPolicy();
    for (let turn = 0; turn < 10; turn += 1) {
      expect((await alpha.claim(A)).reason).toBe('GRANTED');
      if (turn % 2 === 0) await alpha.release(A, { reason: 'ERROR', message: `error ${turn}` });
      harness.advance(900);
    }
    expect(await alpha.claim(A)).toMatchObject({
      reason: 'DENIED_HELD',
      hold_reason: '10 attempts in a row ended in error or expiry; the last: the lease ran out',
    });
    expect((await alpha.next()).reason).toBe('NOTHING_READY');
    await coordinator.decisions.operate(PROJECT_KEY, A, 'unhold', {
      expected_generation: 10,
      reason: 'fixed',
    });
    expect((await alpha.claim(A)).claim?.generation).toBe(11);
  });

  test('starts a new count of failures after a success', async () => {
    const { harness, alpha } = await openWithPolicy({ max_attempts: 2 });
    const fail = async () => {
      await alpha.claim(A);
      await alpha.release(A, { reason: 'ERROR', message: 'x' });
      harness.advance(900);
    };
    await fail();
    await alpha.claim(A);
    await alpha.release(A);
    await fail();
    expect((await alpha.claim(A)).reason).toBe('GRANTED');
    await alpha.release(A, { reason: 'ERROR', message: 'the end' });
    expect(await alpha.claim(A)).toMatchObject({
      reason: 'DENIED_HELD',
      hold_reason: expect.stringContaining('the end'),
    });
    expect(await harness.eventTypesOf(A)).toContain('TASK_HELD');
  });
});
