import { expect, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import { forEachStore, PROJECT_KEY, planOf } from '../../../test/support/coordinator-harness.js';
import { OPEN_CALLER } from '../authentication/caller.js';

const A = 'A-001-core';
const EDGE = { feature_id: 'REQ-F-AUTH-001', edge: 'design→code' };
const iterationEvent = (iteration: number) => ({
  event_type: 'iteration_completed',
  agent_id: 'alpha',
  payload: { iteration, status: 'iterating' },
});

forEachStore('appending a methodology event', (open) => {
  async function openWithPlan() {
    const harness = await open();
    await harness.plan(planOf(A));
    return {
      harness,
      coordinator: harness.coordinator,
      alpha: new HarnessAgent(harness, 'alpha', 's1'),
    };
  }

  test('is allowed to every agent while the subject is not claimed, and records the subject', async () => {
    const { harness, coordinator } = await openWithPlan();
    const reply = await coordinator.holder.appendEvent(PROJECT_KEY, { ...iterationEvent(1), ...EDGE });
    expect(reply).toMatchObject({ success: true, reason: 'APPENDED' });
    expect((await harness.events()).at(-1)).toMatchObject({
      event_type: 'iteration_completed',
      subject: 'REQ-F-AUTH-001#design_code',
      feature_id: 'REQ-F-AUTH-001',
      edge: 'design_code',
      payload: { iteration: 1 },
    });
  });

  test('is allowed only to the holder of a claimed subject, under its generation', async () => {
    const { coordinator, alpha } = await openWithPlan();
    const { claim } = await alpha.claim(A);
    const event = { ...iterationEvent(1), task_id: A };
    const appendReason = async (fields: object) => {
      const reply = await coordinator.holder.appendEvent(PROJECT_KEY, { ...event, ...fields });
      return 'reason' in reply ? reply.reason : reply.problem;
    };
    expect(await appendReason({})).toBe('SESSION_MISMATCH');
    expect(await appendReason({ session_id: 's2', generation: 1 })).toBe('SESSION_MISMATCH');
    expect(await appendReason({ session_id: 's1', generation: 2 })).toBe('GENERATION_MISMATCH');
    expect(await appendReason({ session_id: 's1', generation: 1, claim_id: 'clm_wrong' })).toBe(
      'SESSION_MISMATCH',
    );
    expect(await appendReason({ session_id: 's1', generation: 1, claim_id: claim?.id })).toBe('APPENDED');
    const callerWithKey = { ...OPEN_CALLER, claim_id_optional: false };
    const withoutClaimId = { ...event, session_id: 's1', generation: 1 };
    expect(await coordinator.holder.appendEvent(PROJECT_KEY, withoutClaimId, callerWithKey)).toMatchObject({
      reason: 'SESSION_MISMATCH',
    });
  });

  test('takes effect once when it is repeated with the same request id', async () => {
    const { harness, coordinator } = await openWithPlan();
    const body = { ...iterationEvent(1), request_id: 'r1' };
    const first = await coordinator.holder.appendEvent(PROJECT_KEY, body);
    expect(await coordinator.holder.appendEvent(PROJECT_KEY, body)).toEqual(first);
    const other = await coordinator.holder.appendEvent(PROJECT_KEY, {
      ...iterationEvent(2),
      request_id: 'r1',
    });
    expect(other).toMatchObject({ problem: 'IDEMPOTENCY_CONFLICT' });
    const events = (await harness.events()).filter(({ event_type }) => event_type === 'iteration_completed');
    expect(events).toHaveLength(1);
  });

  test('takes effect once per event id, even if different agents append it', async () => {
    const { harness, coordinator } = await openWithPlan();
    const event_id = '0198c5a2-7d5e-7b2c-9c1f-2f6f3c1d4e5a';
    const occurred_at = '2026-01-03T10:00:00.000Z';
    const body = { ...iterationEvent(1), ...EDGE, event_id, occurred_at };
    expect(await coordinator.holder.appendEvent(PROJECT_KEY, body)).toMatchObject({
      reason: 'APPENDED',
      event_id,
    });
    const again = { ...body, request_id: 'another' };
    const other = { ...OPEN_CALLER, principal: 'key-2' };
    expect(await coordinator.holder.appendEvent(PROJECT_KEY, again, other)).toMatchObject({
      reason: 'APPENDED',
      event_id,
    });
    const changed = await coordinator.holder.appendEvent(PROJECT_KEY, {
      ...body,
      payload: { iteration: 2, status: 'blocked' },
    });
    expect(changed).toMatchObject({ problem: 'IDEMPOTENCY_CONFLICT' });
    const events = (await harness.events()).filter(({ event_type }) => event_type === 'iteration_completed');
    expect(events).toMatchObject([{ event_id, payload: { iteration: 1, occurred_at } }]);
  });

  test('is refused with an event id of the version reserved for the coordinator', async () => {
    const { coordinator } = await openWithPlan();
    const event_id = '0f5e3a52-6d0b-5d5e-9a55-8c1f6b7d2c11';
    const reply = await coordinator.holder.appendEvent(PROJECT_KEY, { ...iterationEvent(1), event_id });
    expect(reply).toMatchObject({ problem: 'INVALID_REQUEST', faults: [{ path: 'event_id' }] });
  });

  test('is refused for events that commands write, and for invalid events', async () => {
    const { harness, coordinator } = await openWithPlan();
    const before = (await harness.events()).length;
    const appendReason = async (body: object) => {
      const reply = await coordinator.holder.appendEvent(PROJECT_KEY, body);
      return 'problem' in reply ? reply.problem : reply.reason;
    };
    expect(await appendReason({ ...iterationEvent(1), event_type: 'CLAIM_ACQUIRED', task_id: A })).toBe(
      'INVALID_EVENT',
    );
    expect(await appendReason({ ...iterationEvent(1), event_type: 'edge_claim' })).toBe('INVALID_EVENT');
    expect(await appendReason({ ...iterationEvent(1), event_type: 'constructor' })).toBe('INVALID_EVENT');
    expect(await appendReason({ ...iterationEvent(1), payload: { iteration: -1 } })).toBe('INVALID_EVENT');
    expect(await appendReason({ ...iterationEvent(1), payload: { big: 'x'.repeat(70_000) } })).toBe(
      'INVALID_REQUEST',
    );
    expect(await appendReason({ ...iterationEvent(1), task_id: 'A-999-nowhere' })).toBe('UNKNOWN_TASK');
    expect(await appendReason({ ...iterationEvent(1), task_id: A, edge: 'x' })).toBe('INVALID_REQUEST');
    expect(await harness.events()).toHaveLength(before);
  });
});
