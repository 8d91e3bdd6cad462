import { expect, test, vi } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import {
  CoordinatorHarness,
  forEachStore,
  PROJECT_KEY,
  planOf,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import { OPEN_CALLER } from '../authentication/caller.js';

const A = 'A-001-core';
const numbersBetween = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => from + n);

forEachStore('refusals', (open) => {
  async function openWithPlan() {
    const harness = await open();
    await harness.plan(planOf(A));
    const [alpha, beta] = [new HarnessAgent(harness, 'alpha', 's1'), new HarnessAgent(harness, 'beta', 's2')];
    return { harness, alpha, beta };
  }

  const refusalsIn = async (harness: CoordinatorHarness) =>
    (await harness.events()).filter(({ event_type }) => /REJECTED$/.test(event_type));
  const refusedCount = async ({ coordinator }: CoordinatorHarness) =>
    unwrap(await coordinator.queries.getClaimHistory(PROJECT_KEY, A)).refused_count;

  // req: AUD-011
  test('are recorded at most 20 times per generation and principal, then counted', async () => {
    const { harness, alpha, beta } = await openWithPlan();
    await alpha.claim(A);
    for (let turn = 0; turn < 15; turn += 1) await beta.claim(A);
    await Promise.all(Array.from({ length: 15 }, () => beta.claim(A)));
    expect((await refusalsIn(harness)).map(({ payload }) => payload.refused_count)).toEqual(
      numbersBetween(1, 20),
    );
    expect(await refusedCount(harness)).toBe(30);
    const counted = (await harness.events()).filter(({ event_type }) => event_type === 'REFUSALS_COUNTED');
    expect(counted.map(({ payload }) => payload.refused_count)).toEqual([21, 22, 24, 28]);
    expect(counted[0]).toMatchObject({ task_id: A, generation: 1, payload: { principal: 'open' } });
    const other = { ...OPEN_CALLER, principal: 'key-2' };
    const claim = { task_id: A, agent_id: 'gamma', session_id: 's3' };
    await harness.coordinator.claims.claimTask(PROJECT_KEY, claim, other);
    expect((await refusalsIn(harness)).at(-1)).toMatchObject({
      agent_id: 'gamma',
      payload: { principal: 'key-2', refused_count: 1 },
    });
    await alpha.release(A);
    await alpha.claim(A);
    await beta.claim(A);
    expect((await refusalsIn(harness)).at(-1)).toMatchObject({
      generation: 2,
      payload: { refused_count: 1 },
    });
  });

  test('continue to be counted after a restart, and are never recorded more than 20 times', async () => {
    const { harness, alpha, beta } = await openWithPlan();
    await alpha.claim(A);
    for (let turn = 0; turn < 19; turn += 1) await beta.claim(A);
    await harness.restart();
    for (let turn = 0; turn < 5; turn += 1) await beta.claim(A);
    expect(await refusalsIn(harness)).toHaveLength(20);
    await harness.restart();
    expect(await refusedCount(harness)).toBe(24);
    await beta.claim(A);
    expect(await refusalsIn(harness)).toHaveLength(20);
    expect(await refusedCount(harness)).toBe(25);
  });

  test('of a repeated request are recorded and counted once, also after a restart', async () => {
    const { harness, alpha, beta } = await openWithPlan();
    await alpha.claim(A);
    const submission = { task_id: A, session_id: 's9', generation: 7, result_data: 1, request_id: 'r2' };
    const repeat = async () => {
      await beta.claim(A, { request_id: 'r1' });
      await harness.coordinator.holder.submitResult(PROJECT_KEY, submission);
    };
    await repeat();
    await repeat();
    await harness.restart();
    await repeat();
    expect((await refusalsIn(harness)).map(({ request_id }) => request_id)).toEqual(['r1', 'r2']);
    expect(await refusedCount(harness)).toBe(2);
  });

  test('of a repeated request are not written again and again', async () => {
    const { harness, alpha, beta } = await openWithPlan();
    await alpha.claim(A);
    await beta.claim(A, { request_id: 'r1' });
    const commit = vi.spyOn(harness.store, 'commit');
    await beta.claim(A, { request_id: 'r1' });
    // A shared store commits once, and once more after the log was read.
    expect(commit.mock.calls.length).toBeLessThanOrEqual(2);
    expect(await refusedCount(harness)).toBe(1);
  });

  // req: AUD-011
  test('of submissions without a valid handle are recorded with the sender, and change nothing else', async () => {
    const { harness, alpha } = await openWithPlan();
    const imposter = { ...OPEN_CALLER, principal: 'key-7', claim_id_optional: false };
    const submit = async (fields: object) => {
      const body = { task_id: A, session_id: 's1', claim_id: 'clm_guess', result_data: 'x', ...fields };
      await harness.coordinator.holder.submitResult(PROJECT_KEY, body, imposter);
    };
    await submit({ generation: 1 });
    await alpha.claim(A);
    const before = unwrap(await harness.coordinator.queries.getTaskState(PROJECT_KEY, A));
    const session = unwrap(await harness.coordinator.sessions.get(PROJECT_KEY.tenant_id, 's1'));
    harness.advance(10);
    await submit({ generation: 9 });
    await submit({ generation: 1, session_id: 's-other' });
    await submit({ generation: 1 });
    expect(unwrap(await harness.coordinator.queries.getTaskState(PROJECT_KEY, A))).toEqual(before);
    expect(unwrap(await harness.coordinator.sessions.get(PROJECT_KEY.tenant_id, 's1'))).toEqual(session);
    await alpha.submit(A, 'mine');
    await submit({ generation: 1 });
    const records = await refusalsIn(harness);
    expect(
      records.map(({ agent_id, session_id, payload }) => [agent_id, session_id, payload.rejection_reason]),
    ).toEqual([
      ['key-7', 's1', 'NO_CLAIM'],
      ['key-7', 's1', 'FUTURE_GENERATION'],
      ['key-7', 's-other', 'SESSION_MISMATCH'],
      ['key-7', 's1', 'SESSION_MISMATCH'],
      ['key-7', 's1', 'TASK_ALREADY_COMPLETED'],
    ]);
    expect(records.every(({ payload }) => payload.principal === 'key-7' && payload.verified === false)).toBe(
      true,
    );
    expect(JSON.stringify(records)).not.toContain('clm_guess');
    const { agents } = unwrap(await harness.coordinator.queries.agents(PROJECT_KEY));
    expect(agents.map(({ agent_id }) => agent_id)).toEqual(['alpha']);
  });

  test('are not recorded about work that does not exist, nor if `next` finds nothing', async () => {
    const { harness, alpha, beta } = await openWithPlan();
    await alpha.claim(A);
    const submission = { task_id: 'Z-001-none', session_id: 's9', generation: 1, result_data: 1 };
    await harness.coordinator.holder.submitResult(PROJECT_KEY, submission);
    await beta.claim('Z-001-none');
    expect(await beta.next()).toMatchObject({ reason: 'NOTHING_READY' });
    expect(await refusalsIn(harness)).toEqual([]);
  });

  test('of a zombie’s submissions are recorded once per result', async () => {
    const { harness, alpha, beta } = await openWithPlan();
    await alpha.claim(A);
    harness.advance(301);
    await beta.claim(A);
    const first = await alpha.submit(A, 'mine');
    harness.advance(5);
    expect(await alpha.submit(A, 'mine')).toEqual(first);
    await alpha.submit(A, 'mine, better');
    const rejected = (await harness.events()).filter((event) => event.event_type === 'RESULT_REJECTED');
    expect(rejected).toHaveLength(2);
    expect(rejected[0]?.payload).toMatchObject({
      submitted_generation: 1,
      current_generation: 2,
      rejection_reason: 'STALE_GENERATION',
      work_lost: true,
      parked: true,
      result_data: 'mine',
    });
  });

  test('are counted for the agent whose command was refused', async () => {
    const { harness, alpha, beta } = await openWithPlan();
    await alpha.claim(A);
    await beta.claim(A);
    const { agents } = unwrap(await harness.coordinator.queries.agents(PROJECT_KEY));
    expect(agents).toMatchObject([
      { agent_id: 'alpha', claims: [A], denied: 0 },
      { agent_id: 'beta', claims: [], denied: 1 },
    ]);
  });

  test('park at most sixteen results of one agent', async () => {
    const { harness, alpha, beta } = await openWithPlan();
    await alpha.claim(A);
    harness.advance(301);
    await beta.claim(A);
    for (let turn = 0; turn < 16; turn += 1) expect((await alpha.submit(A, turn)).parked).not.toBeNull();
    expect(await alpha.submit(A, 16)).toMatchObject({
      reason: 'STALE_GENERATION',
      work_lost: true,
      parked: null,
    });
    expect((await alpha.submit(A, 3)).parked).not.toBeNull();
    expect(unwrap(await harness.coordinator.queries.getTaskState(PROJECT_KEY, A)).parked).toBe(16);
  });
});

test('two coordinators of one store record 20 refusals between them, and lose none of the first ten', async () => {
  const harness = await CoordinatorHarness.open('memory');
  await harness.plan(planOf(A));
  const second = await harness.openAnother();
  await new HarnessAgent(harness, 'alpha', 's1').claim(A);
  const sendRefusedClaim = (n: number) =>
    (n % 2 === 0 ? harness.coordinator : second).claims.claimTask(PROJECT_KEY, {
      task_id: A,
      agent_id: `agent-${n}`,
      session_id: `s-${n}`,
    });
  await Promise.all(numbersBetween(1, 10).map(sendRefusedClaim));
  const rejectedEvents = async () =>
    (await harness.events()).filter(({ event_type }) => event_type === 'CLAIM_REJECTED');
  expect(new Set((await rejectedEvents()).map(({ agent_id }) => agent_id)).size).toBe(10);
  await Promise.all(numbersBetween(11, 40).map(sendRefusedClaim));
  expect(await rejectedEvents()).toHaveLength(20);
});
